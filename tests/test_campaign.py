"""Campaigns: many trainings from one file, killed and continued, and the tables that are made of their files."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from genelab.cli.main import run as genelab_command
from genelab.core.files import read_json, read_json_lines
from genelab.experiment.campaign.file import read_campaign
from genelab.experiment.campaign.state import look_at
from genelab.experiment.campaign.work import Plan, run_campaign
from genelab.experiment.launch import LocalProcesses, log_file
from genelab.experiment.run.lock import locked
from runs import meta, start, wait_for_iteration
from terminal import run_in_terminal, screen
from test_report import Page

SINGLE, DOUBLE = "GeneLab-Inverted-Pendulum-v0", "GeneLab-Double-Inverted-Pendulum-v0"
TINY = """
frames_per_run = 10_000
seeds = [1]

[targets]
GeneLab-Inverted-Pendulum-v0 = -1000
GeneLab-Double-Inverted-Pendulum-v0 = 1000

[[entry]]
task = ["GeneLab-Inverted-Pendulum-v0", "GeneLab-Double-Inverted-Pendulum-v0"]
overrides.env.num_envs = 8
overrides.agent = {max_iterations = 10, save_interval = 2}
"""


class ThisProcess:
    """A launcher that runs every command at once, where the tests run."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self._codes: dict[Path, int | None] = {}

    def start(self, command: list[str], directory: Path) -> None:
        self.commands.append(command)
        log_file(directory).parent.mkdir(parents=True, exist_ok=True)
        with log_file(directory).open("a") as log, redirect_stdout(log), redirect_stderr(log):
            self._codes[directory] = genelab_command(command)

    def ended(self) -> dict[Path, int | None]:
        ended, self._codes = self._codes, {}
        return ended

    def stop(self) -> None:
        pass


def work_on(file: Path, **options: Any) -> tuple[int, list[list[str]], str]:
    """Run a campaign in this process: exit code, commands, and what was said."""
    launcher, said = ThisProcess(), []
    code = run_campaign(file, say=said.append, launcher=launcher, **options)
    return code, launcher.commands, "\n".join(map(str, said))


def edit(file: Path, *changes: tuple[str, str]) -> Path:
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return file


def files(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def at(file: Path, task: str, spec: str = "cpu", seed: int = 1) -> Path:
    return file.with_suffix("") / task / spec / f"seed_{seed}"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two runs, both done. Read it, do not change it."""
    file = tmp_path_factory.mktemp("undisturbed") / "tiny.toml"
    file.write_text(TINY)
    code, _, said = work_on(file)
    assert code == 0, said
    return file


@pytest.fixture
def campaign(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of the finished campaign."""
    shutil.copytree(undisturbed.parent, tmp_path / "copy")
    return tmp_path / "copy" / undisturbed.name


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The file of a campaign of which nothing has been run."""
    file = tmp_path / "fresh.toml"
    file.write_text(TINY)
    return file


# Running


def test_every_run_is_trained_and_evaluated_and_every_row_summarised(undisturbed: Path) -> None:
    for task in (SINGLE, DOUBLE):
        run = at(undisturbed, task)
        assert (meta(run)["status"], meta(run)["preset"], meta(run)["seed"]) == ("finished", "cpu", 1)
        evaluation = read_json(run / "eval.json")
        assert (evaluation["num_episodes"], evaluation["deterministic"], evaluation["seed"]) == (100, True, 0)
        assert {"return_mean", "return_ci95"} <= read_json(run.parent / "summary.json")["baseline"].keys()


def test_a_killed_campaign_goes_on_to_the_same_weights(undisturbed: Path, fresh: Path) -> None:
    process = start(fresh.parent, "campaign", "run", str(fresh), "--parallel", "2", start_new_session=True)
    runs = [at(fresh, task) for task in (SINGLE, DOUBLE)]
    wait_for_iteration(process, runs, 3)
    trainings = [int((run / "run.lock").read_text().split()[1]) for run in runs]
    for pid in (process.pid, *trainings):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert [meta(run)["status"] for run in runs] == ["running", "running"]
    code, commands, said = work_on(fresh)
    assert code == 0, said
    assert ["--resume" in command for command in commands if command[0] == "train"] == [True, True]
    for task in (SINGLE, DOUBLE):
        weights = [meta(at(file, task))["weights_sha256"] for file in (fresh, undisturbed)]
        assert weights[0] == weights[1] is not None


def test_what_is_done_is_not_repeated(campaign: Path) -> None:
    before = files(campaign.parent)
    code, commands, said = work_on(campaign)
    assert (code, commands) == (0, [])
    assert "0 to work on, 2 left alone" in said
    assert files(campaign.parent) == before


def test_only_what_is_missing_is_done(campaign: Path) -> None:
    evaluation = read_json(at(campaign, DOUBLE) / "eval.json")
    (at(campaign, DOUBLE) / "eval.json").write_text(json.dumps({**evaluation, "checkpoint": "model_2.pt"}))
    assert [command[0] for command in work_on(campaign)[1]] == ["eval"]
    edit(campaign, ("seeds = [1]", "seeds = [1, 2]"))
    shutil.rmtree(campaign.with_suffix("") / SINGLE)
    shutil.copytree(at(campaign, DOUBLE), at(campaign, DOUBLE, seed=2))
    record = {**meta(at(campaign, DOUBLE)), "seed": 2}
    (at(campaign, DOUBLE, seed=2) / "run.json").write_text(json.dumps(record))
    _, commands, _ = work_on(edit(campaign, (f'["{SINGLE}", "{DOUBLE}"]', f'"{DOUBLE}"'), (f"{SINGLE} = -1000", "")))
    assert [command[0] for command in commands] == ["summary"]
    assert read_json(at(campaign, DOUBLE).parent / "summary.json")["seeds"] == [1, 2]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("max_iterations = 10", "max_iterations = 12", "agent.max_iterations"),
        ("save_interval = 2", "save_interval = 2, algorithm.gamma = 0.9", "agent.algorithm.gamma"),
    ],
)
def test_an_edit_that_changes_a_run_is_refused(
    old: str, new: str, named: str, campaign: Path, mistake: Callable[..., str]
) -> None:
    edit(campaign, (old, new))
    before = files(campaign.parent)
    said = mistake("campaign", "run", campaign)
    assert f"'{SINGLE}/cpu/seed_1' was begun with another {named}: put it back" in said
    assert files(campaign.parent) == before


def test_a_name_makes_a_row_of_its_own(campaign: Path) -> None:
    edit(campaign, ("[[entry]]", '[[entry]]\nname = "again"'), ("max_iterations = 10", "max_iterations = 1"))
    assert [row.spec for row in read_campaign(campaign).rows] == ["cpu-again", "cpu-again"]
    assert set(Plan(read_campaign(campaign)).frames.values()) == {384}


def test_two_processes_cannot_work_on_one_campaign(fresh: Path, mistake: Callable[..., str]) -> None:
    with locked(fresh.with_suffix("")):
        assert f"in use by process {os.getpid()}" in mistake("campaign", "run", fresh)


def test_a_training_that_was_left_behind_is_waited_for(tmp_path: Path) -> None:
    launcher = LocalProcesses()
    with locked(tmp_path / "run"):
        launcher.start(["list"], tmp_path / "run")
        assert launcher.ended() == {}
    assert launcher.ended() == {tmp_path / "run": None}
    assert not log_file(tmp_path / "run").exists()


# The budget


def test_a_run_beyond_the_budget_is_refused_before_anything_starts(fresh: Path, mistake: Callable[..., str]) -> None:
    edit(fresh, ("frames_per_run = 10_000", "frames_per_run = 3_839"))
    said = mistake("campaign", "run", fresh)
    assert f"'{SINGLE}/cpu': it would train 3,840 frames, more than frames_per_run 3,839" in said
    assert not fresh.with_suffix("").exists()


def test_runs_that_left_the_file_count_against_the_total(campaign: Path, mistake: Callable[..., str]) -> None:
    edit(campaign, ("frames_per_run", "total_frames = 7_680\nframes_per_run"))
    assert work_on(campaign)[:2] == (0, [])
    edit(campaign, ("[[entry]]", '[[entry]]\nname = "again"'), ("max_iterations = 10", "max_iterations = 1"))
    said = mistake("campaign", "run", campaign)
    assert "all runs would train 8,448 frames, 7,680 of them in runs that the file has no more" in said


@pytest.mark.parametrize("options", [("--backend", "skrl"), ("--backend", "sb3"), ("--agent.action_repeat", "2")])
def test_planned_frames_are_those_that_are_trained(
    options: tuple[str, str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    if "--backend" in options:
        pytest.importorskip({"sb3": "stable_baselines3"}.get(options[1], options[1]))
    length = 3 if options[0] != "--backend" else 100  # not a multiple of a rollout's 7 x 24 steps
    assert cli("train", SINGLE, *options, "--num-envs", 7, "--steps", length, "--log-dir", tmp_path / "run").code == 0
    from genelab.experiment.run.directory import Run

    _, agent_cfg = Run.open(tmp_path / "run").configs()
    assert agent_cfg.total_steps(7) == read_json_lines(tmp_path / "run/metrics.jsonl")[-1]["steps"]


# Only what fails


def test_only_failing_leaves_tasks_at_their_target_alone(campaign: Path) -> None:
    edit(campaign, ("[[entry]]", '[[entry]]\nname = "other"'), ("max_iterations = 10", "max_iterations = 1"))
    code, commands, said = work_on(campaign, only_failing=True)
    assert code == 0, said
    assert [command[:2] for command in commands if command[0] != "summary"] == [["train", DOUBLE], ["eval", DOUBLE]]
    assert at(campaign, DOUBLE, "cpu-other").exists()


def test_a_row_below_its_target_is_not_repeated_with_the_same_settings(campaign: Path) -> None:
    code, commands, said = work_on(campaign, only_failing=True)
    assert (code, commands) == (0, [])
    assert f"{DOUBLE}/cpu: below its target; the same settings would give the same weights" in said
    assert f"{SINGLE}/cpu: below" not in said


def test_only_failing_tries_a_run_again_that_failed(campaign: Path) -> None:
    edit(campaign, (f"{SINGLE} = -1000", ""), (f"{DOUBLE} = 1000", ""))
    run, weights = at(campaign, SINGLE), meta(at(campaign, SINGLE))["weights_sha256"]
    (run / "run.json").write_text(json.dumps({**meta(run), "status": "failed"}))
    shutil.rmtree(run / "state")
    code, commands, _ = work_on(campaign, only_failing=True)
    assert (code, [command[0] for command in commands]) == (0, ["train"])
    assert meta(run)["weights_sha256"] == weights


# Status


def test_the_status_says_what_became_of_every_run(campaign: Path, cli: Callable[..., Any]) -> None:
    edit(campaign, ("seeds = [1]", "seeds = [1, 2, 3]"))
    log_file(at(campaign, SINGLE, seed=2)).write_text("preset: cpu\ngenelab: no such luck\n")
    shutil.copytree(at(campaign, SINGLE), at(campaign, SINGLE, seed=3))
    record = {**meta(at(campaign, SINGLE)), "seed": 3, "status": "running"}
    (at(campaign, SINGLE, seed=3) / "run.json").write_text(json.dumps(record))
    outcome = cli("campaign", "status", campaign)
    assert outcome.code == 0, outcome.err
    lines = [" ".join(line.split()) for line in outcome.out.split("\n")]
    for state in ("1 done", "2 failed: no such luck", "3 stopped: to be continued"):
        assert any(line.startswith(f"{SINGLE} cpu {state}") for line in lines)
    assert "2 done, 1 stopped, 1 failed, 2 queued, 0 of 2 rows at target" in outcome.out
    runs = json.loads(cli("campaign", "status", campaign, "--json").out)["runs"]
    assert [run["state"] for run in runs] == ["done", "failed", "stopped", "done", "queued", "queued"]
    with locked(at(campaign, SINGLE, seed=3)):
        lines = (at(campaign, SINGLE, seed=3) / "metrics.jsonl").read_text().splitlines(keepends=True)
        (at(campaign, SINGLE, seed=3) / "metrics.jsonl").write_text("".join(lines[:5]))
        assert re.search(r"running: 50 %, ETA \d+ s", cli("campaign", "status", campaign).out)


def test_the_status_of_what_nobody_works_on_is_shown_once_on_a_terminal(campaign: Path) -> None:
    code, written = run_in_terminal("campaign", "status", campaign, cwd=campaign.parent, columns=160)
    assert code == 0
    lines = screen(written)
    assert lines[0].split()[:4] == ["task", "spec", "state", "total_reward_ma"]
    assert any(line.startswith(SINGLE) and " / -1000 yes " in line for line in lines)
    assert any(line.startswith("2 done, 1 of 2 rows at target") for line in lines)


# Tables and reports


def test_the_table_is_made_from_run_files(campaign: Path, cli: Callable[..., Any]) -> None:
    run = at(campaign, DOUBLE)
    evaluation = read_json(run / "eval.json")
    evaluation["metrics"]["return_mean"] = 123.25
    (run / "eval.json").write_text(json.dumps(evaluation))
    returns = [line["return_mean"] for line in read_json_lines(run / "metrics.jsonl") if "return_mean" in line]
    assert cli("campaign", "table", campaign, "--out", campaign.parent / "out.md").code == 0
    table = read_json(campaign.parent / "out.json")
    assert table["metrics"].startswith("total_reward_ma is the mean of the last 100 ")
    row = table["rows"][1]
    assert row["total_reward_ma mean"] == pytest.approx(sum(returns) / len(returns))
    assert (row["evaluation"], row["M frames"], row["seeds"], row["reached"]) == (123.25, 0.00384, [1], False)
    assert (row["spec"], row["commit"][:9]) == (meta(run)["preset"], meta(run)["git_commit"][:9])
    assert row["overrides"] == {"env.num_envs": 8, "agent.max_iterations": 10, "agent.save_interval": 2}
    assert row["random"] == read_json(run.parent / "summary.json")["baseline"]["return_mean"]
    text = (campaign.parent / "out.md").read_text()
    assert "| task | spec | seeds | total_reward_ma mean | worst |" in text
    assert f"| {DOUBLE} | cpu | (1) |" in text
    assert "| 123.25 |" in text
    assert cli("campaign", "table", campaign, "--out", campaign.parent / "again.md").code == 0
    assert (campaign.parent / "again.md").read_text() == text


def test_the_seeds_of_a_row_are_one_row_of_the_table(campaign: Path) -> None:
    edit(campaign, ("seeds = [1]", "seeds = [1, 2]"))
    shutil.copytree(at(campaign, SINGLE), at(campaign, SINGLE, seed=2))
    row = look_at(read_campaign(campaign))[0]
    assert (row.score["n"], row.score["worst"]) == (2, row.score["mean"])
    assert {"iqm", "iqm_ci95"} <= row.score.keys()
    assert row.reached


def test_the_report_has_the_curves_and_the_target_of_every_task(campaign: Path, cli: Callable[..., Any]) -> None:
    assert cli("report", campaign).code == 0
    page = Page((campaign.with_suffix("") / "report.html").read_text())
    assert set(page.plots()) == {SINGLE, DOUBLE}
    assert len(page.all("path", class_="target")) == 2
    assert "1 of 2 rows at target" in page.text
    assert "total_reward_ma" in page.text


def test_a_campaign_that_has_not_been_run_has_no_report(fresh: Path, mistake: Callable[..., str]) -> None:
    assert "has been run: there is no run below" in mistake("report", fresh)


# Mistakes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("frames_per_run", "frames_per_rum", "unknown field 'frames_per_rum' (did you mean 'frames_per_run'?)"),
        ("frames_per_run = 10_000", "", "'frames_per_run' is missing"),
        ("frames_per_run = 10_000", "frames_per_run = -1", "'frames_per_run' must be at least 1, not -1"),
        ("seeds = [1]", "", "entry 1: it has no seeds"),
        ("seeds = [1]", "seeds = [1, 1]", "entry 1: a seed is there twice"),
        ("seeds = [1]", 'seeds = "1,2"', "'seeds' must be list of int, not '1,2'"),
        ("seeds = [1]", 'seeds = [1]\npreset = "cpv"', "unknown preset of task 'GeneLab-Inverted-Pendulum-v0' 'cpv'"),
        ("[[entry]]\ntask", "[[entry]]\ntasks", "entry 1: unknown field 'tasks' (did you mean 'task'?)"),
        ("[[entry]]", '[[entry]]\nbackend = "rls"', "entry 1: unknown backend of task"),
        ("[[entry]]", '[[entry]]\nname = "a/b"', "entry 1: the name 'a/b' becomes a directory"),
        ("num_envs = 8", "num_env = 8", "unknown config path 'env.num_env' (did you mean 'env.num_envs'?)"),
        ("num_envs = 8", 'num_envs = "many"', "env.num_envs expects int, got 'many'"),
        ("save_interval = 2", "save_interval = 50", "agent.save_interval is 50 already: the override changes nothing"),
        ("save_interval = 2", "seed = 2", "agent.seed is no override"),
        (f"{SINGLE} = -1000", "Pendulum = 1", "targets: no entry trains 'Pendulum'"),
        (f'task = ["{SINGLE}"', f'task = ["{SINGLE}", "{SINGLE}"', f"'{SINGLE}/cpu' is there twice: give one a name"),
        (f'["{SINGLE}"', '["GeneLab-Inverted-Pendulum-v1"', "did you mean 'GeneLab-Inverted-Pendulum-v0'?"),
        ("[[entry]]", "[[entry]", "is not TOML"),
        ("[[entry]]", "[entry]", "there is no [[entry]]"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    old: str, new: str, said: str, fresh: Path, mistake: Callable[..., str]
) -> None:
    text = fresh.read_text()
    assert old in text
    fresh.write_text(text.replace(old, new, 1))
    line = mistake("campaign", "run", fresh)
    assert said in line
    assert str(fresh) in line
    assert not fresh.with_suffix("").exists()


def test_a_file_that_is_not_there_is_said(mistake: Callable[..., str]) -> None:
    assert "cannot read 'nowhere.toml'" in mistake("campaign", "status", "nowhere.toml")
    assert "a campaign file ends with .toml" in mistake("campaign", "table", "nowhere")
    assert "No such command 'ru'" in mistake("campaign", "ru", "nowhere.toml")


def test_the_example_is_within_its_budget() -> None:
    example = read_campaign(Path(__file__).parent.parent / "examples/campaign.toml")
    frames = Plan(example).frames
    assert len(frames) == 6
    assert example.total_frames is not None
    assert sum(frames.values()) <= example.total_frames
