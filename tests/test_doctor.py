"""``genelab doctor``: what this machine can do, and how to get what it cannot."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from genelab.engines import ENGINES
from genelab.experiment import doctor
from genelab.rl.backends import BACKENDS


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[str | None, str]]:
    """What was found of everything, and its remedy; looked for once."""
    return {what: (has, remedy) for what, has, remedy in doctor.examine()}


def test_everything_that_matters_is_looked_for(found: dict[str, Any]):
    parts = [*(f"engine {name}" for name in ENGINES), *(f"backend {name}" for name in BACKENDS)]
    assert {"python", "cores", "memory", "CUDA", "ffmpeg", "Node.js", "Chromium", *parts} <= set(found)
    assert {f"OpenGL {kind}" for kind in ("egl", "osmesa", "glfw")} <= set(found)


def test_what_is_there_is_said_with_its_version(found: dict[str, Any]):
    assert found["engine mujoco"][0] == found["mujoco"][0]
    assert int(found["cores"][0]) >= 1
    assert (found["Node.js"][0] is None) == (shutil.which("node") is None)


def test_what_is_missing_has_a_remedy(found: dict[str, Any]):
    assert all(remedy for has, remedy in found.values() if has is None)


def test_a_library_that_crashes_counts_as_missing(monkeypatch: pytest.MonkeyPatch):
    crash = ("python3", "-c", "import os; print('begun', flush=True); os.abort()")
    monkeypatch.setattr(doctor, "PROBES", {"OpenGL egl": (crash, "another"), "Node.js": (("no-such-program",), "apt")})
    assert [row for row in doctor.examine() if row[0] in doctor.PROBES] == [
        ("OpenGL egl", None, "another"),
        ("Node.js", None, "apt"),
    ]


def test_the_command_prints_a_table_or_json_and_succeeds(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "PROBES", {"Node.js": (("no-such-program",), "apt-get install nodejs")})
    outcome = cli("doctor")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split(maxsplit=2) == ["Node.js", "no", "apt-get install nodejs"]
    record = json.loads(cli("doctor", "--json").out)
    assert record[-1] == {"what": "Node.js", "found": None, "remedy": "apt-get install nodejs"}
