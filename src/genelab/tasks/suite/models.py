"""The models of dm_control's control suite: its MJCF files, read from the installed package without importing it."""

import importlib.util
import re
from pathlib import Path

import mujoco

from genelab.core.registry import NotInstalledError


def suite_model(name: str, sensors: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> mujoco.MjSpec:
    """A model of dm_control's control suite, with only those of its sensors that are named, without some shapes."""
    folder = directory()
    # MuJoCo warns of this attribute, and models that are put together in one world lose it.
    text = re.sub(r' settotalmass="[^"]*"', "", (folder / f"{name}.xml").read_text(encoding="utf-8"))
    parts = {f"./common/{path.name}": path.read_bytes() for path in (folder / "common").glob("*.xml")}
    spec = mujoco.MjSpec.from_string(text, include=parts)
    unread = [sensor for sensor in spec.sensors if sensor.name not in sensors]
    for part in (*unread, *(spec.geom(shape) or spec.site(shape) for shape in without)):
        spec.delete(part)
    return spec


def directory() -> Path:
    """Where the model files are."""
    found = importlib.util.find_spec("dm_control")
    if found is None or found.submodule_search_locations is None:
        install = "pip install 'genelab[suite]'"
        raise NotInstalledError(f"the control suite needs the models of dm_control, which is not installed: {install}")
    return Path(found.submodule_search_locations[0]) / "suite"
