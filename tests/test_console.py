"""What running commands show: live lines on a terminal, plain lines in a pipe."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from genelab.experiment.console import duration, open_display
from terminal import run_in_terminal, screen

TASK = "GeneLab-Inverted-Pendulum-v0"
GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
TINY = ("--num-envs", 8, "--max-iterations", 6, "--log-dir", "run")

Genelab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (45, "45 s"), (480, "8 min"), (5000, "83 min"), (7800, "2 h 10 min"), (273_600, "3 d 4 h")],
)
def test_times_are_given_in_words(seconds: float, text: str):
    assert duration(seconds) == text


def test_plain_lines_come_at_intervals_and_at_the_end(capsys: pytest.CaptureFixture[str]):
    display = open_display(interval_s=1000.0)
    row = display.row("training", 3, "iteration")
    for done in (1, 2, 3):
        row.update(done, "return 1.00")
    display.close()
    assert capsys.readouterr().out == "training: iteration 3/3, return 1.00\n"


def test_plain_lines_say_how_long_it_will_take(capsys: pytest.CaptureFixture[str]):
    display = open_display(interval_s=0.0)
    display.row("training", 1_000_000_000, "step", start=10).update(11)
    assert re.fullmatch(r"training: step 11/1000000000, ETA (\d+ [smhdin]+ ?)+\n", capsys.readouterr().out)


def test_plain_lines_about_work_with_a_result_leave_standard_output_to_the_result(
    capsys: pytest.CaptureFixture[str],
):
    display = open_display(interval_s=0.0, keep=False)
    display.row("evaluation", 2, "episode").update(1)
    captured = capsys.readouterr()
    assert captured.err.startswith("evaluation: episode 1/2")
    assert captured.out == ""


def test_evaluations_during_training_stand_on_lines_of_their_own_above_the_bar(tmp_path: Path):
    code, written = run_in_terminal("train", TASK, *TINY, "--eval-every", 3, "--eval-episodes", 2, cwd=tmp_path)
    assert code == 0, written
    lines = screen(written)
    evaluations = [number for number, line in enumerate(lines) if line.startswith("evaluation at iteration")]
    [bar] = [number for number, line in enumerate(lines) if line.startswith("training ")]
    assert len(evaluations) == 2
    assert all("━" not in lines[number] for number in evaluations)
    assert max(evaluations) < bar
    assert "6/6 iterations" in lines[bar]
    assert all(len(line) <= 100 for line in lines[: bar + 1])


def test_a_bar_is_cut_to_a_narrow_terminal(tmp_path: Path):
    code, written = run_in_terminal("train", TASK, *TINY, cwd=tmp_path, columns=50)
    assert code == 0, written
    [bar] = [line for line in screen(written) if line.startswith("training ")]
    assert len(bar) <= 50


@pytest.mark.parametrize("backend", ["skrl", "sb3"])
def test_libraries_that_count_steps_say_steps(backend: str, genelab: Genelab, tmp_path: Path):
    pytest.importorskip("skrl" if backend == "skrl" else "stable_baselines3")
    train = ("train", TASK, "--backend", backend, "--num-envs", 8, "--max-iterations", 256, "--log-dir", "run")
    done = genelab(*train, "--eval-every", 256, "--eval-episodes", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^training: step \d+/256, ", done.stdout, re.MULTILINE)
    assert re.search(r"^evaluation at step \d+: ", done.stdout, re.MULTILINE)
    assert "iteration " not in done.stdout


def test_a_summary_of_seeds_that_count_steps_says_steps(genelab: Genelab, tmp_path: Path):
    pytest.importorskip("skrl")
    tiny = ("--backend", "skrl", "--num-envs", 8, "--max-iterations", 256, "--log-dir", "run")
    done = genelab("train", TASK, *tiny, "--seeds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^seed +steps +return_mean", done.stdout, re.MULTILINE)


def test_output_in_a_pipe_has_no_control_codes(genelab: Genelab, tmp_path: Path):
    done = genelab("train", TASK, *TINY, "--seeds", "1,2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr


def test_training_with_seeds_shows_one_live_line_per_seed(tmp_path: Path):
    code, written = run_in_terminal("train", TASK, *TINY, "--seeds", "1,2", cwd=tmp_path)
    assert code == 0, written
    bars = [line for line in screen(written) if "━" in line]
    assert len(bars) == 2
    for seed, bar in zip((1, 2), bars, strict=True):
        assert re.match(rf"seed {seed} ━+ 6/6 iterations  .*steps/s.*, done$", bar)
    assert "waiting" in written


def test_an_evaluation_shows_its_episodes_on_a_terminal_and_leaves_only_the_result(trained_run: Path, tmp_path: Path):
    model = trained_run / "model_final.pt"
    code, written = run_in_terminal("eval", TASK, model, "--episodes", 4, cwd=tmp_path)
    assert code == 0, written
    assert "evaluation" in written
    assert "/4 episodes" in written
    assert "━" not in "".join(screen(written))


def test_a_probe_shows_its_steps_on_a_terminal(tmp_path: Path):
    settings = ("--num-envs", 1, "--seconds", 1.5, "--env.episode_length_s", 1.5)
    code, written = run_in_terminal("probe", GO1, f"bundled:{GO1}", *settings, cwd=tmp_path)
    assert code == 0, written
    assert "fixed commands" in written
    assert "/75 steps" in written


def test_a_comparison_shows_its_steps_on_a_terminal(tmp_path: Path):
    settings = ("--engines", "mujoco", "--episodes", 1, "--env.episode_length_s", 0.5)
    code, written = run_in_terminal("sim2sim", TASK, "bundled", *settings, cwd=tmp_path)
    assert code in (0, 1), written
    assert "/50 steps" in written
    assert "━" not in "".join(screen(written))


def test_output_that_nobody_reads_stops_nothing_and_leaves_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "from genelab.experiment.console import say; say('one'); say('two'); open('done', 'w').close()"
    with os.fdopen(writer, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=pipe, stderr=subprocess.PIPE, cwd=tmp_path, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "done").exists()
