"""``genelab project new``: a package of one's own that installs, trains, evaluates and exports at once."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASK = "MyArm-Reach-v0"


def run(directory: Path, *command: object, path: str = "") -> str:
    """Run a command and return what it says; without network."""
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": path}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=directory, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A new project, and the Python of an environment that it is installed in, beside all that is installed here."""
    home = tmp_path_factory.mktemp("home")
    run(home, sys.executable, "-m", "genelab", "project", "new", "my_arm", path=os.pathsep.join(sys.path))
    run(home, sys.executable, "-m", "venv", "--without-pip", "env")
    python, packages = home / "env/bin/python", Path(sysconfig.get_path("purelib"))
    folder = run(home, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    import genelab

    (Path(folder) / "host.pth").write_text(f"{Path(genelab.__file__).parents[1]}\n{packages}\n")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--editable"]
    run(home, sys.executable, "-m", "pip", "--python", python, "install", *options, home / "my_arm")
    return home / "my_arm", python


def test_the_task_is_listed_once_it_is_installed(project: tuple[Path, Path]):
    directory, python = project
    assert TASK in run(directory, python, "-m", "genelab", "list")


def test_the_tests_of_the_project_pass_and_train_with_both_libraries(project: tuple[Path, Path]):
    pytest.importorskip("stable_baselines3")
    directory, python = project
    assert "4 passed" in run(directory, python, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_it_trains_evaluates_and_exports(project: tuple[Path, Path]):
    directory, python = project
    genelab = (python, "-m", "genelab")
    run(directory, *genelab, "train", TASK, "--max-iterations", 2, "--num-envs", 8, "--log-dir", "demo")
    run(directory, *genelab, "eval", TASK, "demo/model_final.pt", "--episodes", 4, "--out", "demo/eval.json")
    assert json.loads((directory / "demo/eval.json").read_text())["num_episodes"] == 4
    run(directory, *genelab, "export", TASK, "demo/model_final.pt", "--out", "demo/policy.ts")
    about = json.loads((directory / "demo/policy.ts.metadata.json").read_text())
    assert (about["obs_dim"], about["action_dim"]) == (6, 2)


def test_no_placeholder_is_left(project: tuple[Path, Path]):
    files = [path for path in project[0].rglob("*") if path.suffix in (".py", ".toml", ".xml", ".md")]
    assert len(files) >= 8
    assert not [path for path in files if re.search("@[a-z]+@", path.read_text())]


def test_the_package_and_the_task_can_have_names_of_their_own(cli: Callable[..., Any], tmp_path: Path):
    assert cli("project", "new", "arm-lab", "--path", tmp_path, "--package", "arms", "--task-id", "Arm-v3").code == 0
    directory = tmp_path / "arm-lab"
    assert 'id="Arm-v3"' in (directory / "arms/__init__.py").read_text()
    assert tomllib.loads((directory / "pyproject.toml").read_text())["project"]["name"] == "arm-lab"
    assert "TASK := Arm-v3" in (directory / "Makefile").read_text()
    assert f"GENELAB ?= {Path(__file__).parents[1]}" in (directory / "Makefile").read_text()


@pytest.mark.parametrize("name", ["3x", "My-Arm", "class", "../up", "", "numpy", "genelab", "json", "tests"])
def test_a_bad_name_is_one_line_and_writes_nothing(name: str, mistake: Callable[..., str], tmp_path: Path):
    assert "name" in mistake("project", "new", name, "--path", tmp_path)
    assert not list(tmp_path.rglob("*"))


def test_a_task_that_exists_is_refused(mistake: Callable[..., str], tmp_path: Path):
    known = "GeneLab-Inverted-Pendulum-v0"
    assert "a task already" in mistake("project", "new", "my_arm", "--path", tmp_path, "--task-id", known)


def test_what_exists_is_left_as_it_is(mistake: Callable[..., str], tmp_path: Path):
    (tmp_path / "my_arm").mkdir()
    assert "exists already" in mistake("project", "new", "my_arm", "--path", tmp_path)
    assert not list((tmp_path / "my_arm").iterdir())
