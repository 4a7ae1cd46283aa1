"""Mirror symmetry of observations and actions, declared by names.

Seen in a mirror (y becomes -y), a robot with the same legs on both sides is the same robot: left and right joints
swap, joints that turn about a forward or upward axis change sign, and so do the sideways parts of vectors. A cart on
a rail is the same seen in a mirror across the rail (x becomes -x).
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs.managers.observation import ObservationGroup
from genelab.envs.terms import Env, match_names
from genelab.mdp import observations as terms
from genelab.scene.mirror import MirrorTable
from genelab.sensors import ContactSensor, HeightScan

POLAR = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0)}
"""Signs of velocities and directions in a mirror across an axis."""
AXIAL = {"x": (1.0, -1.0, -1.0), "y": (-1.0, 1.0, -1.0)}
"""Signs of angular velocities."""
PLANAR = {"x": (-1.0, 1.0, -1.0), "y": (1.0, -1.0, -1.0)}
"""Signs of a velocity command: forward, left, turn."""

VECTORS: dict[Callable[..., Any], dict[str, tuple[float, ...]]] = {
    terms.base_lin_vel: POLAR,
    terms.base_ang_vel: AXIAL,
    terms.body_ang_vel: AXIAL,
    terms.projected_gravity: POLAR,
    terms.generated_command: PLANAR,
}
JOINTS: tuple[Callable[..., Any], ...] = (terms.joint_pos_rel, terms.joint_vel)
SIDES: tuple[Callable[..., Any], ...] = (terms.contact_air_time, terms.contact_found)
"""One value per side of a contact sensor."""


@dataclass(frozen=True)
class Reflection:
    """``mirrored = sign * value[index]`` over the last dimension."""

    index: Tensor
    sign: Tensor

    def __call__(self, value: Tensor) -> Tensor:
        return value[..., self.index] * self.sign


class Mirror:
    """Mirrors the observations (by group) and actions of an environment."""

    def __init__(self, env: Env, table: MirrorTable):
        self._robot = env.robot.name
        self._scans = {n: sensor.grid_shape for n, sensor in env.sensors.items() if isinstance(sensor, HeightScan)}
        self._sides = {n: s.cfg.side_names for n, s in env.sensors.items() if isinstance(s, ContactSensor)}
        self._sites, self._table = env.robot.site_names, table
        self._joints = _reflect_joints(env.robot.joint_names, table)
        parts = []
        for name, term in env.action_manager.terms.items():
            joints = getattr(term, "joint_names", None)
            if joints is None:
                raise UserError(f"action term '{name}' has no mirror image: it does not say which joints it moves")
            parts.append(_reflect_joints(joints, table))
        self.action = side_by_side(parts, env.device)
        self.groups = {
            name: side_by_side(self._frame(group) * group.cfg.history, env.device)
            for name, group in env.observation_manager.groups.items()
        }

    def observations(self, obs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Every group of observations as the mirrored robot would see it."""
        return {name: self.groups[name](value) for name, value in obs.items()}

    def _frame(self, group: ObservationGroup) -> list[Reflection]:
        reflections = []
        for (name, dim), cfg in zip(group.term_dims.items(), group.cfg.terms.values(), strict=True):
            reflection = self._term(cfg.func, cfg.params, dim)
            if reflection is None or len(reflection.index) != dim:
                raise UserError(f"observation term '{group.name}.{name}' has no mirror image in genelab.mdp.symmetry")
            reflections.append(reflection)
        return reflections

    def _term(self, func: Callable[..., Any], params: dict[str, Any], dim: int) -> Reflection | None:
        if params.get("entity") not in (None, self._robot):
            return None
        if self._table.partner(body := str(params.get("body", ""))) != body:
            return None
        if func in VECTORS:
            signs = VECTORS[func][self._table.axis]
            return Reflection(torch.arange(len(signs)), torch.tensor(signs))
        if func in JOINTS:
            return self._joints
        if func is terms.last_action:
            return Reflection(self.action.index.cpu(), self.action.sign.cpu())
        if func is terms.sensor_data and params["sensor"] in self._scans:
            rows = torch.arange(dim).view(self._scans[params["sensor"]])
            return Reflection(rows.flip("yx".index(self._table.axis)).flatten(), torch.ones(dim))
        if func is terms.feet_height:
            chosen = match_names(params["sites"], self._sites, "site", self._robot)
            return _swap_sides([self._sites[i] for i in chosen], self._table)
        if func in SIDES:
            return _swap_sides(self._sides[params["sensor"]], self._table)
        if func is terms.contact_force_log:
            return _swap_sides(self._sides[params["sensor"]], self._table, POLAR[self._table.axis])
        return None


def _reflect_joints(joints: Sequence[str], table: MirrorTable) -> Reflection:
    sign = [-1.0 if re.fullmatch(table.flip, joint) else 1.0 for joint in joints]
    return Reflection(torch.tensor([_partner("joint", joint, joints, table) for joint in joints]), torch.tensor(sign))


def _swap_sides(names: Sequence[str], table: MirrorTable, signs: tuple[float, ...] = (1.0,)) -> Reflection:
    """Parts of the robot change places, such as feet, with as many values each as there are signs."""
    partners = torch.tensor([_partner("part", name, names, table) for name in names])
    columns = partners[:, None] * len(signs) + torch.arange(len(signs))
    return Reflection(columns.flatten(), torch.tensor(signs).repeat(len(names)))


def _partner(what: str, name: str, names: Sequence[str], table: MirrorTable) -> int:
    """Where among `names` the one is that this one is seen as."""
    if table.partner(name) not in names:
        raise UserError(f"{what} '{name}' has no mirror image '{table.partner(name)}' beside it")
    return list(names).index(table.partner(name))


def side_by_side(parts: Sequence[Reflection], device: str) -> Reflection:
    """The reflection of values that stand side by side."""
    starts = itertools.accumulate((len(part.index) for part in parts), initial=0)
    index = torch.cat([part.index + start for part, start in zip(parts, starts, strict=False)])
    return Reflection(index.to(device), torch.cat([part.sign for part in parts]).to(device))
