"""Documentation that must agree with the code."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "examples/deploy/README.md", *ROOT.glob("docs/**/*.md")]
LOADED = re.compile(r'<(?:script|img|source|iframe)[^>]* src="([^"]+)"|<link rel="(?:stylesheet|icon)" href="([^"]+)"')
"""What a browser fetches to show a page."""


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


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.rglob("*.html"):
        for loaded in filter(None, sum(LOADED.findall(page.read_text()), ())):
            assert (page.parent / loaded.split("?")[0]).exists() or page.name == "404.html", (page.name, loaded)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes for the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_where_the_files_are_read_as_they_are(page: Path) -> None:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"", text):
        path, _, anchor = "".join(link).partition("#")
        if "://" not in path:
            target = page.parent / path if path else page
            assert target.exists(), path
            assert not anchor or anchor in anchors(target), link


def test_the_page_of_the_demo_shows_the_training_and_every_film(trained_run: Path, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    shutil.copytree(trained_run, demo)
    for film in ("go1.mp4", "video.mp4"):
        (demo / film).write_bytes(b"a film")
    page: Path = runpy.run_path(str(ROOT / "examples/demo_page.py"))["write_page"](demo)
    text = page.read_text()
    films = [text.index(caption) for caption in ("The pendulum that was just trained", "The Go1 follows")]
    assert films == sorted(films)
    assert text.count("<video") == 2
    assert text.count('class="plot"') >= 1
    assert "--agent trained --viewer web" in text
