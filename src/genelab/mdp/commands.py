"""Command terms."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.math import quat_apply
from genelab.core.ranges import Interval, NonNegative, NotEmpty, Share
from genelab.engines.pictures import Arrow, Colour, Mark
from genelab.envs.cfg import CommandTermCfg, RampCfg
from genelab.envs.managers import CommandTerm
from genelab.envs.terms import Env

COMMAND_COLOUR: Colour = (0.15, 0.7, 0.3, 1.0)
"""Of what pictures show of a command."""
ARROW_M = 1.0
"""Length of the arrow of 1 m/s. The arc of 1 rad/s is 1 rad long."""
ARC_RADIUS_M, ARC_PARTS = 0.3, 6
ARROW_ABOVE_M = 0.15
"""How high the arrows are above the robot."""


@dataclass(kw_only=True)
class UniformCommandCfg(CommandTermCfg):
    """A vector drawn uniformly between two corners."""

    low: Annotated[tuple[float, ...], NotEmpty()]
    high: Annotated[tuple[float, ...], NotEmpty()]

    def validate(self) -> None:
        if len(self.low) != len(self.high):
            raise UserError(f"low has {len(self.low)} values and high {len(self.high)}")
        if any(low > high for low, high in zip(self.low, self.high, strict=True)):
            raise UserError(f"low must nowhere be above high, not {self.low} and {self.high}")

    def build(self, name: str, env: Env) -> "UniformCommand":
        return UniformCommand(name, self, env, len(self.low))


class UniformCommand(CommandTerm):
    """See `UniformCommandCfg`."""

    cfg: UniformCommandCfg

    def sliders(self) -> list[tuple[str, float, float]]:
        names = "xyz" if self.dim == 3 else map(str, range(self.dim))
        return list(zip(names, self.cfg.low, self.cfg.high, strict=True))

    def resample(self, env_ids: Tensor) -> None:
        for column, (low, high) in enumerate(zip(self.cfg.low, self.cfg.high, strict=True)):
            self.command[env_ids, column] = self.env.streams.uniform(self.stream, (len(env_ids),), low, high)


@dataclass(kw_only=True)
class VelocityCommandCfg(CommandTermCfg):
    """Velocities to follow, in the frame of the root body: forward and left, m/s, and yaw rate, rad/s."""

    lin_x: Interval = (-1.0, 1.0)
    lin_y: Interval = (-1.0, 1.0)
    ang_z: Interval = (-1.0, 1.0)
    standing_share: Share = 0.1
    """Share of commands that are zero."""
    forward_share: Share = 0.1
    """Share of commands that go straight ahead, at `forward_min` or more."""
    forward_min: NonNegative = 0.3
    ramp: RampCfg | None = None
    """Factor on the ranges: small commands, for a start, can be learnt in all directions at once."""

    def validate(self) -> None:
        if self.standing_share + self.forward_share > 1.0:
            raise UserError("standing_share and forward_share are shares of all commands: at most 1 together")

    def build(self, name: str, env: Env) -> "VelocityCommand":
        return VelocityCommand(name, self, env, 3)


class VelocityCommand(CommandTerm):
    """See `VelocityCommandCfg`. Also knows where a robot that follows the commands exactly would be by now."""

    state = (*CommandTerm.state, "ranges", "course")
    cfg: VelocityCommandCfg

    def __init__(self, name: str, cfg: VelocityCommandCfg, env: Env, dim: int):
        super().__init__(name, cfg, env, dim)
        self.ranges = torch.tensor([cfg.lin_x, cfg.lin_y, cfg.ang_z], device=env.device)
        """(3, 2) what commands are drawn from now; a curriculum may widen it."""
        self.course = torch.zeros(env.num_envs, 3, device=env.device)
        """(N, 3) x, y and heading of a robot that follows the commands exactly, from where its episode began."""

    def sliders(self) -> list[tuple[str, float, float]]:
        names = ("forward, m/s", "left, m/s", "turn left, rad/s")
        return [(name, low, high) for name, (low, high) in zip(names, self.ranges.tolist(), strict=True)]

    def resample(self, env_ids: Tensor) -> None:
        cfg, n = self.cfg, len(env_ids)
        draw = self.env.streams.uniform(self.stream, (n, 4))
        low, high = (self.ranges * (1.0 if cfg.ramp is None else cfg.ramp.factor(self.env.step_count))).unbind(dim=1)
        command = low + (high - low) * draw[:, :3]
        forward = (draw[:, 3] >= cfg.standing_share) & (draw[:, 3] < cfg.standing_share + cfg.forward_share)
        command[forward, 0] = command[forward, 0].abs().clamp(min=cfg.forward_min)
        command[forward, 1:] = 0.0
        command[draw[:, 3] < cfg.standing_share] = 0.0
        self.command[env_ids] = command

    def step(self, dt: float) -> None:
        heading = self.course[:, 2]
        cos, sin = heading.cos(), heading.sin()
        along, left = self.command[:, 0] * dt, self.command[:, 1] * dt
        self.course[:, 0] += cos * along - sin * left
        self.course[:, 1] += sin * along + cos * left
        self.course[:, 2] += self.command[:, 2] * dt
        super().step(dt)

    def marks(self, env_id: int) -> list[Mark]:
        """An arrow above the robot for the commanded velocity, and one that goes round for the yaw rate."""
        robot, (along, left, turn) = self.env.robot, self.command[env_id].tolist()
        x, y, _ = robot.root_pos[env_id].tolist()
        z = float(robot.body_pos[env_id, :, 2].max()) + ARROW_ABOVE_M
        ahead = quat_apply(robot.root_quat[env_id], torch.tensor([1.0, 0.0, 0.0], device=self.env.device))
        heading = math.atan2(float(ahead[1]), float(ahead[0]))
        marks: list[Mark] = []
        if math.hypot(along, left) > 0.0:
            towards, far = heading + math.atan2(left, along), ARROW_M * math.hypot(along, left)
            tip = (x + far * math.cos(towards), y + far * math.sin(towards), z)
            marks.append(Arrow([(x, y, z), tip], COMMAND_COLOUR))
        if turn != 0.0:
            angles = [heading + turn * part / ARC_PARTS for part in range(ARC_PARTS + 1)]
            arc = [(x + ARC_RADIUS_M * math.cos(a), y + ARC_RADIUS_M * math.sin(a), z) for a in angles]
            marks.append(Arrow(arc, COMMAND_COLOUR))
        return marks

    def reset(self, env_ids: Tensor) -> None:
        self.course.index_fill_(0, env_ids, 0.0)
        super().reset(env_ids)
