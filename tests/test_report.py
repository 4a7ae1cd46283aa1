"""The report: one HTML file that stands alone, from runs in whatever state they are."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genelab.cli.main import run as genelab_command
from genelab.core.files import read_json, read_json_lines
from genelab.core.stats import summarize
from genelab.experiment import report as report_module
from genelab.experiment.pages.numbers import duration, number, plus_minus, si, tick_labels, ticks
from genelab.experiment.pages.plots import thin
from genelab.experiment.report import write_report
from genelab.experiment.report.curves import curves, of_metric
from genelab.experiment.run.reading import load_entries

TASK = "GeneLab-Inverted-Pendulum-v0"
TINY = ("--num-envs", "8", "--max-iterations", "3", "--agent.num_steps_per_env", "16")
FASTER = ("--agent.algorithm.learning_rate", "0.002", "--env.rewards.alive.weight", "2")
VOID = {"meta", "input", "br"}
REFERENCES = {"src", "href", "srcset", "data", "poster", "action", "xlink:href"}


class Page(HTMLParser):
    """A page taken apart; fails on tags that are not closed in order."""

    def __init__(self, text: str):
        super().__init__()
        self.source = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            self.style += data
        elif "script" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """Attributes of the elements of a kind; ``class_`` names one of their classes."""
        wanted = attributes.pop("class_", None)
        found = [a for name, a in self.elements if name == tag and attributes.items() <= a.items()]
        return [a for a in found if wanted is None or wanted in (a.get("class") or "").split()]

    def plots(self) -> dict[str, str]:
        """Description of every plot by its title."""
        labels = [plot["aria-label"] or "" for plot in self.all("svg", class_="plot")]
        return {label.partition(":")[0]: label for label in labels}


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def rows_of(directory: Path) -> list[dict[str, Any]]:
    return read_json_lines(directory / "metrics.jsonl")


def write_rows(directory: Path, rows: list[dict[str, Any]]) -> None:
    (directory / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``single``, and ``parent`` with two seeds, another learning rate and an evaluation of seed 1. Read only."""
    root = tmp_path_factory.mktemp("report")
    assert genelab_command(["train", TASK, *TINY, "--log-dir", str(root / "single")]) == 0
    for seed in ("1", "2"):
        log_dir = str(root / "parent" / f"seed_{seed}")
        assert genelab_command(["train", TASK, *TINY, *FASTER, "--seed", seed, "--log-dir", log_dir]) == 0
    first = root / "parent/seed_1"
    evaluation = ["eval", TASK, str(first / "model_final.pt"), "--out", str(first / "eval.json")]
    assert genelab_command([*evaluation, "--episodes", "8", "--num-envs", "8"]) == 0
    return root


@pytest.fixture
def runs(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained runs that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "runs"))


# What is on the page


def test_the_report_of_one_run_is_beside_it_and_holds_its_curves(runs: Path, cli: Callable[..., Any]) -> None:
    outcome = cli("report", runs / "single")
    path = runs / "single/report.html"
    assert (outcome.code, outcome.out) == (0, f"report: {path}\n")
    found = read(path)
    plots = found.plots()
    assert {"Return", "Episode length", "alive", "upright", "learning_rate", "action_std", "value"} <= set(plots)
    assert plots["Return"] == f"Return: single ends at {rows_of(runs / 'single')[-1]['return_mean']:.4g}"
    assert all(re.fullmatch(r"M[\d.,L-]+", line["d"] or "") for line in found.all("path", class_="line"))
    assert {TASK, "finished", "preset cpu", "mujoco", "3"} <= {word.strip() for word in found.words}
    assert found.all("path", class_="band") == []


def test_curves_are_drawn_against_steps_and_against_time(runs: Path) -> None:
    found = read(write_report([runs / "single"]))
    assert {plot["data-unit"] for plot in found.all("svg", class_="plot")} == {"steps", "time"}
    assert {a["id"] for a in found.all("input", type="radio")} == {"by-steps", "by-time"}


def test_seeds_become_a_mean_a_band_and_a_table_with_intervals(runs: Path) -> None:
    found = read(write_report([runs / "parent"]))
    assert found.all("path", class_="band")
    assert {a["data-name"] for a in found.all("path", class_="seed")} == {"seed 1", "seed 2"}
    last = [rows_of(runs / f"parent/seed_{seed}")[-1]["return_mean"] for seed in (1, 2)]
    stats = summarize(last)
    row = f"Return, last iteration {number(stats.mean)} {number(stats.std, 3)} ± {number(stats.ci95, 3)} 2"
    assert f"{row} {number(last[0])} {number(last[1])}" in found.text


def test_a_comparison_names_every_entry_and_lists_exactly_the_paths_that_differ(runs: Path, tmp_path: Path) -> None:
    found = read(write_report([runs / "single", runs / "parent"], tmp_path / "both.html"))
    names = {a["data-name"] for a in found.all("path", class_="line")}
    assert names == {"single", "parent"}
    listed = re.search(r"(\d+) differences between entries(.*?)Full config", found.text)
    assert listed is not None
    paths = re.findall(r"(?:env|agent)\.[\w.]+", listed[2])
    assert paths == ["env.rewards.alive.weight", "agent.seed", "agent.algorithm.learning_rate"]
    assert listed[1] == "3"
    assert "0.001 0.002" in listed[2]


def test_equal_configs_are_said_to_be_equal(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "single", runs / "again")
    found = read(write_report([runs / "single", runs / "again"], tmp_path / "both.html"))
    assert "The configs of the entries do not differ." in found.text


def test_the_evaluation_is_shown_with_its_interval_terms_and_protocol(runs: Path) -> None:
    record = json.loads((runs / "parent/seed_1/eval.json").read_text())
    metrics = record["metrics"]
    text = read(write_report([runs / "parent"])).text
    assert f"seed 1 {plus_minus(metrics['return_mean'], metrics['return_ci95'])}" in text
    assert re.search(r"8 0 deterministic on mujoco", text)
    for name, value in metrics["reward_terms"].items():
        assert f"{name} {number(value)}" in text


def test_a_run_without_evaluation_has_no_such_section(runs: Path) -> None:
    found = read(write_report([runs / "single"]))
    assert found.all("section", id="evaluation") == []
    assert found.all("section", id="curves") != []


def test_evaluations_during_training_are_plotted_with_their_best(runs: Path) -> None:
    lines = [{"iteration": i, "steps": 128 * i, "return_mean": 10.0 * i, "return_ci95": 0.5} for i in (1, 3, 2)]
    (runs / "single/evaluations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read(write_report([runs / "single"]))
    assert "Return in evaluations" in found.plots()
    assert "seed 42 3 3 384 30.00 ± 0.50 20.00 ± 0.50" in found.text


def test_run_metrics_are_shown_whatever_they_are_called(runs: Path) -> None:
    metrics = {
        "strength": {"mean": 12.0, "std": 1.0, "ci95": 2.5, "n": 2},
        "consistency": 0.97,
        "new": {"a": 3},
        "none": None,
    }
    (runs / "parent/summary.json").write_text(json.dumps({"metrics": metrics, "failed": [3]}))
    text = read(write_report([runs / "parent"])).text
    assert "strength 12.0 ± 2.5 consistency 0.97 new.a 3 none –" in text
    assert "seeds that failed: 3" in text


def test_provenance_says_what_ran_where_and_with_what(runs: Path) -> None:
    meta = read_json(runs / "single/run.json")
    text = read(write_report([runs / "single"])).text
    for value in (meta["command"], meta["git_commit"], meta["machine"]["cpu"], f"torch {meta['versions']['torch']}"):
        assert re.sub(r"\s+", " ", str(value)) in text
    assert "--env.num_envs 8" in text


# One file, safe to open


@pytest.mark.parametrize("directories", [["single"], ["single", "parent"]])
def test_nothing_is_loaded_from_anywhere(runs: Path, directories: list[str]) -> None:
    (runs / "single/video.mp4").write_bytes(b"a video")
    found = read(write_report([runs / name for name in directories]))
    for tag, attributes in found.elements:
        for name in REFERENCES & set(attributes):
            assert (attributes[name] or "").startswith(("#", "data:video/mp4;base64,")), (tag, attributes)
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "image", "use"}
    assert not re.search(r"@import|url\(", found.style)
    assert not re.search(r"https?://", found.source)
    policy = found.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"] or ""
    assert policy.startswith("default-src 'none'")


def test_names_are_escaped(runs: Path, tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>\"&"
    home = runs / "<b>&run"
    shutil.copytree(runs / "single", home)
    meta = read_json(home / "run.json") | {"task": evil, "command": evil, "status": evil, "preset": evil}
    (home / "run.json").write_text(json.dumps(meta))
    env = read_json(home / "params/env.json") | {evil: evil}
    (home / "params/env.json").write_text(json.dumps(env))
    write_rows(home, [{**row, f"reward/{evil}": 1.0} for row in rows_of(home)])
    found = read(write_report([home, runs / "single"], tmp_path / "evil.html"))
    assert evil not in found.source
    assert len(found.all("script")) == 1
    assert "<b>&run" in found.text
    assert evil in found.text
    assert evil in found.plots()


def test_a_video_is_embedded_unless_it_is_too_large(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--video" in read(write_report([runs / "single"])).text
    (runs / "single/video.mp4").write_bytes(b"a video")
    assert read(write_report([runs / "single"])).all("video", src="data:video/mp4;base64,YSB2aWRlbw==")
    monkeypatch.setattr(report_module, "VIDEO_LIMIT", 3)
    found = read(write_report([runs / "single"]))
    assert found.all("video") == []
    assert "video.mp4 is not embedded" in found.text


# Runs that are not whole


def test_a_half_written_last_line_is_left_out_and_noted(runs: Path) -> None:
    path = runs / "single/metrics.jsonl"
    path.write_text(path.read_text()[:-40])
    found = read(write_report([runs / "single"]))
    assert "metrics.jsonl: line 3 is not readable and is left out (cut off" in found.text
    assert found.plots()["Return"].endswith(f"{json.loads(path.read_text().splitlines()[1])['return_mean']:.4g}")


def test_a_killed_run_shows_how_far_it_came(runs: Path) -> None:
    meta = read_json(runs / "single/run.json") | {"status": "running"}
    (runs / "single/run.json").write_text(json.dumps(meta))
    write_rows(runs / "single", rows_of(runs / "single")[:2])
    text = read(write_report([runs / "single"])).text
    assert "running single iteration 2 of 3" in text


def test_a_run_without_any_iteration_has_a_page(runs: Path) -> None:
    (runs / "single/metrics.jsonl").unlink()
    shutil.rmtree(runs / "single/params")
    found = read(write_report([runs / "single"]))
    assert found.plots() == {}
    assert "no iteration has been recorded yet" in found.text


def test_one_iteration_is_a_dot(runs: Path) -> None:
    write_rows(runs / "single", rows_of(runs / "single")[:1])
    found = read(write_report([runs / "single"]))
    assert len(found.all("circle", class_="line")) == len(found.all("svg", class_="plot")) > 0


def test_values_that_are_not_finite_are_left_out_and_noted(runs: Path) -> None:
    rows = rows_of(runs / "single")
    rows = [row | {"return_mean": 1.0} for row in rows]
    rows[1] |= {"return_mean": float("nan"), "loss/value": float("inf"), "reward/alive": None}
    write_rows(runs / "single", rows)
    found = read(write_report([runs / "single"]))
    assert "1 value of return_mean not finite and left out" in found.text
    assert not any(re.search("nan|inf", line["d"] or "") for line in found.all("path", class_="line"))
    assert (found.all("path", class_="line")[0]["d"] or "").count("L") == 1


def test_files_that_are_not_readable_are_noted(runs: Path) -> None:
    (runs / "parent/seed_1/eval.json").write_text('{"metrics": ')
    (runs / "parent/summary.json").write_text("[]")
    text = read(write_report([runs / "parent"])).text
    assert re.search("left out: '.*/eval.json' is not JSON", text)
    assert re.search("left out: '.*/summary.json': expected a record", text)


def test_seeds_of_different_length_have_a_mean_only_where_all_are(runs: Path) -> None:
    write_rows(runs / "parent/seed_2", rows_of(runs / "parent/seed_2")[:2])
    (curve,) = curves(load_entries([runs / "parent"]), of_metric("return_mean", "steps"))
    assert [len(line[0]) for _, line in curve.seeds] == [3, 2]
    assert curve.mean[0].tolist() == [128.0, 256.0]
    read(write_report([runs / "parent"]))


# Mistakes


def test_a_mistake_is_one_line(runs: Path, mistake: Callable[..., str]) -> None:
    assert "there is no directory" in mistake("report", runs / "nowhere")
    assert "is a file: give the directory of a run" in mistake("report", runs / "single/run.json")
    assert "did you mean" in mistake("report", runs)
    assert "neither run.json nor seed_<S>/run.json" in mistake("report", runs / "single/params")
    assert "is named twice" in mistake("report", runs / "single", runs / "parent/../single")
    assert "is a directory" in mistake("report", runs / "single", "--out", runs)
    assert "DIR" in mistake("report")
    (runs / "single/run.json").write_text("{")
    assert "is not JSON" in mistake("report", runs / "single")


def test_a_report_that_cannot_be_written_is_one_line(runs: Path, mistake: Callable[..., str]) -> None:
    assert "cannot write" in mistake("report", runs / "single", "--out", runs / "single/run.json/report.html")


# Parts


def test_a_report_needs_no_torch() -> None:
    code = "import sys, genelab.experiment.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_entries_are_named_by_what_tells_them_apart(runs: Path) -> None:
    labels = [entry.label for entry in load_entries([runs / "parent/seed_1", runs / "parent/seed_2", runs / "single"])]
    assert labels == ["parent/seed_1", "parent/seed_2", "single"]


def test_thinning_a_line_keeps_its_ends_and_spikes() -> None:
    y = np.zeros(10_000)
    y[[1234, 7777]] = 5.0, -5.0
    xs, ys = thin((np.arange(10_000.0), y), buckets=100)
    assert len(xs) <= 202
    assert (xs[0], xs[-1]) == (0.0, 9999.0)
    assert {(1234.0, 5.0), (7777.0, -5.0)} <= set(zip(xs.tolist(), ys.tolist(), strict=True))


@pytest.mark.parametrize(
    ("low", "high", "count", "labels"),
    [
        (0, 14.7e6, 3, ["0", "5M", "10M"]),
        (0, 98_304, 6, ["0", "20k", "40k", "60k", "80k"]),
        (500, 1500, 3, ["500", "1000", "1500"]),
        (-0.034, 0.001, 3, ["−0.03", "−0.02", "−0.01", "0"]),
        (0, 1e-4, 3, ["0", "5e−5", "1e−4"]),
        (1, 1, 3, ["1"]),
    ],
)
def test_ticks_are_round_and_short(low: float, high: float, count: int, labels: list[str]) -> None:
    assert tick_labels(ticks(low, high, count)) == labels


def test_numbers_are_short() -> None:
    assert [si(v) for v in (14_745_600, 98_304, 12, None)] == ["14.7M", "98.3k", "12", "–"]
    assert [number(v) for v in (39.98338, 1e-5, 12_345.6, 0)] == ["39.98", "1e−5", "12,346", "0"]
    assert plus_minus(39.98338, 0.01758) == "39.983 ± 0.018"
    assert [duration(s) for s in (12.34, 535, 7500)] == ["12.3 s", "8 min 55 s", "2 h 5 min"]
