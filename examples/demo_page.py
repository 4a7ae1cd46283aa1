"""Write the page that `make demo` ends with: python examples/demo_page.py DIRECTORY

The directory is a run with films (.mp4) in it. The page shows them, the training's curves and the evaluation. It is one
file that opens without network, made from the parts that `genelab report` is made from.
"""

import base64
import sys
from pathlib import Path

from genelab.experiment.pages import Section, render
from genelab.experiment.report.curves import learning_curves
from genelab.experiment.report.results import badges, evaluation, key_figures
from genelab.experiment.run.reading import load_entries

FILMS = {
    "video.mp4": "The pendulum that was just trained",
    "go1.mp4": "The Go1 follows velocity commands",
    "g1.mp4": "The G1 follows velocity commands",
    "go1-rough.mp4": "The Go1 on stairs, boxes and slopes",
    "franka.mp4": "The Panda brings a cube to a goal",
}
"""Captions of films by their file."""
DRIVE = "genelab play Genelab-Velocity-Flat-Unitree-Go1-v0 --agent trained --viewer web"
NEXT = [
    f"Drive the Go1 in the browser: {DRIVE}",
    "Write a task of your own: docs/tutorials/own-task.md",
    "All pages as a site: make docs",
]


def write_page(directory: Path) -> Path:
    """Write index.html into the directory and return where it is."""
    entries = load_entries([directory])
    films = [
        {"reason": "", "name": FILMS.get(path.name, path.name), "base64": base64.b64encode(path.read_bytes()).decode()}
        for path in sorted(directory.glob("*.mp4"), key=lambda path: [*FILMS, path.name].index(path.name))
    ]
    sections = [
        Section("video", "Films", {"shown": films, "command": DRIVE}),
        learning_curves(entries),
        evaluation(entries),
        Section("notes", "What to do next", NEXT, "next"),
    ]
    words = ["trained here; the other films are of policies that come with the package"]
    header = {"title": entries[0].task, "figures": key_figures(entries), "warning": ""}
    header |= {"states": badges(entries[0]), "label": "", "words": words}
    page = directory / "index.html"
    page.write_text(render("report", "genelab demo", header, sections), encoding="utf-8")
    return page


if __name__ == "__main__":
    page = write_page(Path(sys.argv[1]))
    print(f"page:       {page.resolve().as_uri()}   (curves, evaluation and films; open it in a browser)")
    print(f"drive:      {Path(sys.executable).parent / DRIVE}")
