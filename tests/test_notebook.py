"""What notebooks show: an environment as a picture, a run as its report."""

import io
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import genelab as gl
from genelab.core.errors import UserError
from genelab.core.registry import find

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def env() -> gl.ManagerBasedRlEnv:
    cfg = find("GeneLab-Inverted-Pendulum-v0").env_cfg(play=True)
    cfg.num_envs = 1
    return gl.ManagerBasedRlEnv(cfg)


def test_an_environment_shows_a_picture_of_its_first_world(env: gl.ManagerBasedRlEnv):
    shown = env._repr_png_()
    assert shown is not None
    assert (Image.open(io.BytesIO(shown)).size, len(set(Image.open(io.BytesIO(shown)).getdata())) > 10) == (
        (640, 480),
        True,
    )


def test_without_opengl_it_shows_its_tables_only(env: gl.ManagerBasedRlEnv, monkeypatch: pytest.MonkeyPatch):
    def no_picture(*_: object) -> None:
        raise UserError("cannot draw pictures")

    monkeypatch.setattr(env.engine, "render", no_picture)
    assert env._repr_png_() is None
    assert "rewards" in str(env)


def test_a_run_shows_its_report(trained_run: Path):
    shown = gl.RunReport(str(trained_run))._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "Learning curves" in shown
    assert "<script" not in shown  # of the report, which stays in its frame


def test_a_path_without_a_run_is_an_error(tmp_path: Path):
    with pytest.raises(UserError, match="no run at"):
        gl.RunReport(tmp_path)


def test_the_cells_of_the_tutorial_run_and_show_what_is_stored():
    make = runpy.run_path(str(DOCS / "make_notebook.py"))
    stored = json.loads((DOCS / "tutorials/notebook.ipynb").read_text(encoding="utf-8"))
    made = make["executed"](stored)
    assert _kinds(made) == _kinds(stored)
    assert {"image/png", "text/html", "stream"} <= {kind for cell in _kinds(made) for kind in cell}
    assert "genelab train GeneLab-Inverted-Pendulum-v0 " in json.dumps(made)  # the report says what was run


def _kinds(notebook: dict[str, Any]) -> list[list[str]]:
    """What each cell of a notebook shows, by its kind."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[next(iter(o.get("data", [o["output_type"]]))) for o in cell["outputs"]] for cell in cells]
