"""Machines that lack something: no OpenGL, no display, no UTF-8. What does not need it works, the rest is one line."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TASK = "GeneLab-Inverted-Pendulum-v0"
NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
Genelab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other kinds of OpenGL")
@pytest.mark.parametrize(
    ("gl", "said"),
    [
        ("glfw", "cannot draw pictures: MUJOCO_GL=glfw needs a display, and there is none; use MUJOCO_GL=egl"),
        ("disable", "cannot draw pictures: MUJOCO_GL=disable switches OpenGL off; use MUJOCO_GL=egl"),
        ("nonsense", "MuJoCo cannot be loaded with MUJOCO_GL=nonsense"),
    ],
)
def test_a_video_without_opengl_is_one_line_with_a_remedy(gl: str, said: str, genelab: Genelab, tmp_path: Path) -> None:
    command = ("play", TASK, "--steps", 2, "--video", "film.mp4")
    outcome = genelab(*command, cwd=tmp_path, env={"MUJOCO_GL": gl, **NO_DISPLAY})
    assert outcome.returncode == 2
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert said in outcome.stderr
    assert not list(tmp_path.iterdir())


def python(script: str, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
    )


GYMNASIUM = """
import gymnasium, genelab
from genelab.core.errors import UserError
env = gymnasium.make("genelab/GeneLab-Inverted-Pendulum-v0", render_mode="rgb_array")
env.reset(seed=0)
env.step(env.action_space.sample())
try:
    env.render()
except UserError as error:
    print(error)
"""


def test_an_environment_without_opengl_steps_and_says_why_it_draws_nothing(tmp_path: Path) -> None:
    outcome = python(GYMNASIUM, cwd=tmp_path, MUJOCO_GL="disable")
    assert outcome.stdout.startswith("cannot draw pictures: MUJOCO_GL=disable switches OpenGL off"), outcome.stderr


COMMANDS = f"""
import sys
from genelab.cli.main import run
assert sys.stdout.encoding.lower().replace("-", "") != "utf8", sys.stdout.encoding
directory = sys.argv[1]
tiny = ["--env.num_envs", "4", "--agent.num_steps_per_env", "4", "--agent.max_iterations", "2"]
for command in (
    ["list"],
    ["info", "{TASK}"],
    ["train", "{TASK}", *tiny, "--log-dir", directory],
    ["eval", "{TASK}", directory + "/model_final.pt", "--episodes", "2", "--out", directory + "/eval.json"],
    ["export", "{TASK}", directory + "/model_final.pt", "--out", directory + "/policy.ts"],
    ["report", directory],
    ["--help"],
):
    assert run(command) == 0, command
assert run(["eval", "{TASK}", directory + "/no_such.pt"]) == 2
assert run(["train", "{TASK}", *tiny, "--log-dir", sys.argv[2]]) == 2
"""


def test_every_command_works_where_text_is_ascii(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    outcome = python(COMMANDS, "run", "l\u00e4uft", cwd=tmp_path, **ascii_only)
    assert outcome.returncode == 0, outcome.stderr
    assert "return_mean" in outcome.stdout
    assert "+/-" in outcome.stdout
    assert (tmp_path / "run" / "report.html").exists()
    assert "uft' needs UTF-8, which this locale is not" in outcome.stderr


def test_a_report_keeps_names_that_the_locale_does_not_know(tmp_path: Path, trained_run: Path) -> None:
    shutil.copytree(trained_run, tmp_path / "l\u00e4uft")
    script = "import sys; from genelab.cli.main import run; sys.exit(run(['report', sys.argv[1]]))"
    outcome = python(script, "l\u00e4uft", cwd=tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="")
    assert outcome.returncode == 0, outcome.stderr
    assert "l\u00e4uft" in (tmp_path / "l\u00e4uft" / "report.html").read_text(encoding="utf-8")
