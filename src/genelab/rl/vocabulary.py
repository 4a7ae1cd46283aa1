"""The words of an export's metadata: names of terms that programs outside may rely on, with unit, frame and sign.

A word stays what it is when a function moves or is renamed here. What it means is the function's own docstring. Terms
of tasks outside genelab have no word; they are named by their Python reference only.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genelab import mdp
from genelab.envs import CommandTermCfg

WORLD, ROOT = "world", "root body"
AXES = "along x, y, z"
TURNS = "right-handed about x, y, z"
POSITION, JOINTS = "rad (hinge), m (slide)", "along or about robot.joint_axes"


@dataclass(frozen=True)
class Word:
    """What the numbers of an observation or a command are."""

    name: str
    unit: str | None = None
    """None: that of the sensor or command that it shows; "1": none."""
    frame: str | None = None
    sign: str | None = None
    """What positive values mean."""

    def describe(self) -> dict[str, Any]:
        return {"unit": self.unit, "frame": self.frame, "sign": self.sign}


OBSERVATIONS: dict[Any, Word] = {
    mdp.joint_pos_rel: Word("joint_pos_rel", POSITION, "joint", f"{JOINTS}; zero at robot.default_joint_pos"),
    mdp.joint_vel: Word("joint_vel", "rad/s (hinge), m/s (slide)", "joint", JOINTS),
    mdp.joint_pos: Word("joint_pos", POSITION, "joint", JOINTS),
    mdp.generalized_vel: Word("generalized_vel", "rad/s, m/s", "joint; free root: world, then its own", JOINTS),
    mdp.body_ang_vel: Word("body_ang_vel", "rad/s", WORLD, TURNS),
    mdp.body_pos: Word("body_pos", "m", WORLD, AXES),
    mdp.base_lin_vel: Word("base_lin_vel", "m/s", ROOT, AXES),
    mdp.base_ang_vel: Word("base_ang_vel", "rad/s", ROOT, TURNS),
    mdp.projected_gravity: Word("projected_gravity", "1", ROOT, "downwards: (0, 0, -1) when upright"),
    mdp.last_action: Word("last_action", "1", None, "as the policy gave it, clipped; zero at the start of an episode"),
    mdp.generated_command: Word("generated_command"),
    mdp.command_hint: Word("command_hint"),
    mdp.sensor_data: Word("sensor_data"),
    mdp.feet_height: Word("feet_height", "m", WORLD, "upwards, from the ground below"),
    mdp.contact_air_time: Word("contact_air_time", "s", None, "in the air"),
    mdp.contact_found: Word("contact_found", "1", None, "in contact"),
    mdp.contact_force_log: Word("contact_force_log", "log of N", ROOT, "force on the side"),
    mdp.touch: Word("touch", "log of N", None, "pressed"),
    mdp.object_pos: Word("object_pos", "m", WORLD, AXES),
    mdp.object_to_command: Word("object_to_command", "m", WORLD, "from the object to the place"),
    mdp.remaining_time: Word("remaining_time", "1", None, "1 at the start of an episode, 0 at its end"),
}
COMMANDS: dict[type[CommandTermCfg], Word] = {
    mdp.VelocityCommandCfg: Word("velocity", "m/s, m/s, rad/s", ROOT, "forward, to the left, turning left"),
    mdp.PlaceCommandCfg: Word("place", "m", WORLD, AXES),
    mdp.RingCommandCfg: Word("ring", "m", WORLD, AXES),
    mdp.UniformCommandCfg: Word("uniform", None, None, None),
}


def _name_of(func: Any) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", func.__name__).lower()


def _named(*funcs: Any) -> dict[Any, str]:
    return {func: _name_of(func) for func in funcs}


REWARDS = _named(
    *(mdp.JointAccL2, mdp.FeetSwingHeight, mdp.Pose, mdp.alive, mdp.cos_joint, mdp.cos_pole_chain, mdp.joint_pos_l2),
    *(mdp.joint_vel_l2, mdp.joint_difference_l2, mdp.command_distance_l2, mdp.action_rate_l2, mdp.track_lin_vel),
    *(mdp.track_ang_vel, mdp.feet_air_time, mdp.feet_slip, mdp.any_contact, mdp.lin_vel_z_l2),
    *(mdp.ang_vel_xy_l2, mdp.tilt_l2, mdp.base_height_l2, mdp.actuator_force_l2, mdp.joint_limits),
    *(mdp.goal_reward, mdp.lift_and_place, mdp.track_lin_vel_level, mdp.track_ang_vel_level, mdp.upright),
    *(mdp.body_ang_vel_xy_l2, mdp.angular_momentum_l2, mdp.feet_clearance, mdp.landing_force),
)
ENDS = _named(mdp.time_out, mdp.joint_beyond, mdp.tilted, mdp.object_below)
EVENTS = _named(
    *(mdp.ScatterJoints, mdp.jitter_joints, mdp.push_joint, mdp.push_root, mdp.place_root, mdp.place_object)
)
WORDS: dict[Any, str] = {**{func: word.name for func, word in OBSERVATIONS.items()}, **REWARDS, **ENDS, **EVENTS}


def word_of(func: Any) -> str | None:
    """The word of a term. What genelab's own tasks define is called after its module: ``walker_orientations``."""
    if func not in WORDS and func.__module__.startswith("genelab.tasks."):
        return f"{func.__module__.rpartition('.')[2]}_{_name_of(func)}"
    return WORDS.get(func)


def meaning(described: Callable[..., Any] | type) -> str:
    """The first paragraph of a docstring on one line, without the shape at its end."""
    text = " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())
    return re.sub(r" \([N….][^()]*\)( bool| ->.*)?$", "", text)


def vocabulary_table() -> str:
    """All words as a table for the documentation."""
    lines = ["| word | meaning | unit | frame | sign |", "| --- | --- | --- | --- | --- |"]

    def line(name: str, described: Any, *rest: str | None) -> str:
        cells = (f"`{name}`", meaning(described), *(cell or "" for cell in rest))
        return f"| {' | '.join(cells)} |"

    for func, word in OBSERVATIONS.items():
        of = "the command's" if "command" in word.name else "the sensor's"
        rest = (word.unit, word.frame, word.sign) if word.unit else (of, of, of)
        lines.append(line(word.name, func, *rest))
    lines += [line(word.name, cfg, word.unit, word.frame, word.sign) for cfg, word in COMMANDS.items()]
    for table in (REWARDS, ENDS, EVENTS):
        lines += [line(name, func, "", "", "") for func, name in table.items()]
    return "\n".join(lines)
