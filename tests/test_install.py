"""The built wheel does outside the repository what the README says; uv and pip install the same versions."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SMALLER = {
    "train": "--num-envs 8 --max-iterations 2 --log-dir logs/{number}",
    "eval": "--env.episode_length_s 0.5",
    "play": "--max-steps 5",
    "watch": "--max-steps 5 --port 0",
    "benchmark": "--episodes 8",
    "probe": "--num-envs 2 --seconds 3",
}
"""What is added to commands of the README to make them small."""
QUICK = ("project", "list", "info", "train", "eval", "play", "export", "runs", "report")
"""Commands of which the first in the README is run in every test; all of them in the slow one."""
ELSEWHERE = ("genesis", "examples/", "--resume", "--seeds")
"""What needs another engine, or files of the repository, or is tested in processes of its own."""
IN_ONE_PROCESS = """
import json, sys
from genelab.cli.main import run
for words in json.load(sys.stdin):
    if code := run(words):
        sys.exit(f"{code}: genelab {' '.join(words)}")
"""


def run(directory: Path, *command: object, stdin: str | None = None) -> str:
    """Run a command without network and without this checkout."""
    env = {**os.environ, "PIP_NO_INDEX": "1", "PYTHONPATH": "", "WANDB_MODE": "offline"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=directory, env=env, input=stdin, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: a build leaves files behind."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(source, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", "dist", ".")
    return next((source / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, and with all that it needs from this one."""
    home = tmp_path_factory.mktemp("home")
    run(home, sys.executable, "-m", "venv", "--without-pip", "env")
    python = home / "env/bin/python"
    run(home, sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    folder = run(home, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(folder) / "host.pth").write_text(sysconfig.get_path("purelib"))
    return python


def printed_commands() -> list[str]:
    """The commands of the README's block for everyday use, without their comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## Everyday use\n\n```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [line.partition("#")[0].strip() for line in block[1].splitlines()]


def smaller(commands: list[str]) -> list[list[str]]:
    """Their words, with a run of the first training in place of `<run>`, made small."""
    found = []
    for number, line in enumerate(commands):
        if " probe " in line:  # of another task than the run
            line = line.replace("<run>/model_final.pt", "bundled")
        words = shlex.split(line.replace("<run>", "logs/0"))[1:]
        found.append([*words, *SMALLER.get(words[0], "").format(number=number).split()])
    first = next(number for number, words in enumerate(found) if words[0] == "train")
    return [[word.replace("logs/0", f"logs/{first}") for word in words] for words in found]


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*") if path.is_file()]
    ours = {path.as_posix() for path in files if not re.search(r"__pycache__|\.egg-info", str(path))}
    assert ours == {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_does_outside_the_repository_what_the_readme_says(installed: Path, tmp_path: Path) -> None:
    chosen: dict[str, str] = {}
    for line in printed_commands():
        if not any(word in line for word in (*ELSEWHERE, "--viewer web")):
            chosen.setdefault(line.split()[1], line)
    commands = smaller([chosen[name] for name in QUICK])
    out = run(tmp_path, installed, "-c", IN_ONE_PROCESS, stdin=json.dumps(commands))
    assert "return_mean" in out
    assert (tmp_path / "pendulum.mp4").stat().st_size > 1000
    assert (tmp_path / "policy.onnx.metadata.json").exists()
    assert (tmp_path / "my_arm/my_arm/task.py").exists()
    where = run(tmp_path, installed, "-c", "import genelab; print(genelab.__file__)")
    assert Path(where).is_relative_to(installed.parents[1])


@pytest.mark.slow
def test_every_command_of_the_readme_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    commands = [line for line in printed_commands() if not any(word in line for word in ELSEWHERE)]
    run(tmp_path, installed, "-c", IN_ONE_PROCESS, stdin=json.dumps(smaller(commands)))


def test_uv_installs_the_versions_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    assert settings["constraint-dependencies"] == [line for line in lines if line and not line.startswith("#")]
