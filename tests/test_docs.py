"""Documentation that must agree with the code."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.suite
def test_generated_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(ROOT / "docs/make_pages.py"))["pages"]()
    outdated = [page for page, text in pages.items() if (ROOT / page).read_text() != text]
    assert not outdated, "run: python docs/make_pages.py"


def test_the_example_task_of_the_readme_trains(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples/pointer.py"), "train", "Pointer-v0", "--log-dir", "run"]
    done = subprocess.run([*command, "--max-iterations", "2"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/model_final.pt").exists()


def test_the_example_in_the_readme_is_the_example_file() -> None:
    assert (ROOT / "examples/pointer.py").read_text().strip() in (ROOT / "README.md").read_text()
