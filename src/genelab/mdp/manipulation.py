"""Terms about objects that a robot moves."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.ranges import NonNegative, Positive, Share
from genelab.engines.pictures import Ball, Mark
from genelab.envs.terms import BodyRef, EntityRef, Env, OwnerRef, find_entity
from genelab.mdp.commands import COMMAND_COLOUR, UniformCommand, UniformCommandCfg

BALL_M = 0.03
"""Radius of the ball that shows a place in pictures."""


@dataclass(kw_only=True)
class PlaceCommandCfg(UniformCommandCfg):
    """A place in space, world frame, drawn uniformly between two corners."""

    low_share: Share = 0.0
    """Share of places that have the lowest height."""
    near_share: Share = 0.0
    """Share of places that are drawn around the middle of the box."""
    near_size: Share = 0.1
    """How much of the box that is, along every axis."""
    marker: str = ""
    """The scene's object that shows the place in pictures, if there is one."""

    def unused_fields(self) -> dict[str, str]:
        return {} if self.near_share else {"near_size": "near_share is zero"}

    def build(self, name: str, env: Env) -> "PlaceCommand":
        return PlaceCommand(name, self, env, dim=3)


@dataclass(kw_only=True)
class RingCommandCfg(UniformCommandCfg):
    """A place in a plane around a middle, world frame. `low` and `high` are of its distance, metres, and angle, rad."""

    middle: tuple[float, float, float]
    plane: Literal["xy", "xz"]
    marker: str = ""
    """The scene's object that shows the place in pictures, if there is one."""

    def validate(self) -> None:
        super().validate()
        if len(self.low) != 2:
            raise UserError(f"low is a distance and an angle, not {len(self.low)} values")

    def build(self, name: str, env: Env) -> "RingCommand":
        return RingCommand(name, self, env, dim=3)


class PlaceCommand(UniformCommand):
    """See `PlaceCommandCfg`."""

    cfg: PlaceCommandCfg

    def __init__(self, name: str, cfg: PlaceCommandCfg | RingCommandCfg, env: Env, dim: int):
        super().__init__(name, cfg, env, dim)
        if cfg.marker:
            site = env.scene.model.site(f"{find_entity(env, cfg.marker).name}/mark").id
            env.engine.markers[site] = self.command

    def marks(self, env_id: int) -> list[Mark]:
        """A ball at the place, unless an object of the scene shows it."""
        return [] if self.cfg.marker else [Ball(self.command[env_id].tolist(), BALL_M, COMMAND_COLOUR)]

    def resample(self, env_ids: Tensor) -> None:
        super().resample(env_ids)
        cfg, streams = self.cfg, self.env.streams
        low = streams.uniform(self.stream, (len(env_ids),), 0.0, 1.0) < cfg.low_share
        self.command[env_ids[low], 2] = cfg.low[2]
        if cfg.near_share:
            near = env_ids[streams.uniform(self.stream, (len(env_ids),)) < cfg.near_share]
            middle = 0.5 * torch.tensor((cfg.low, cfg.high), device=self.env.device).sum(dim=0)
            self.command[near] = middle + cfg.near_size * (self.command[near] - middle)


class RingCommand(PlaceCommand):
    """See `RingCommandCfg`."""

    cfg: RingCommandCfg  # type: ignore[assignment]

    def sliders(self) -> list[tuple[str, float, float]]:
        far = max(map(abs, (self.cfg.low[0], self.cfg.high[0])))
        reach = [far * (axis in self.cfg.plane) for axis in "xyz"]
        return [(axis, at - r, at + r) for axis, at, r in zip("xyz", self.cfg.middle, reach, strict=True)]

    def resample(self, env_ids: Tensor) -> None:
        UniformCommand.resample(self, env_ids)
        distance, angle, _ = self.command[env_ids].unbind(dim=1)
        places = torch.tensor(self.cfg.middle, device=self.env.device).repeat(len(env_ids), 1)
        places[:, 0] += distance * angle.sin()
        places[:, 1 if self.cfg.plane == "xy" else 2] += distance * angle.cos()
        self.command[env_ids] = places


def body_pos(env: Env, body: BodyRef, entity: OwnerRef = None) -> Tensor:
    """Position of one body, world frame.  (N, 3)"""
    return (entity or env.robot).body_pos[:, body]


def object_pos(env: Env, entity: EntityRef) -> Tensor:
    """Position of an object, world frame.  (N, 3)"""
    return entity.root_pos


def object_to_command(env: Env, entity: EntityRef, command: str) -> Tensor:
    """From an object to the place it is to be brought to.  (N, 3)"""
    return env.command_manager[command] - object_pos(env, entity)


def remaining_time(env: Env) -> Tensor:
    """Share of the episode that is left.  (N, 1)"""
    return 1.0 - env.episode_length_buf.unsqueeze(-1) / env.max_episode_length


def lift_and_place(
    achieved: Tensor,
    desired: Tensor,
    radius: NonNegative = 0.05,
    lift_bonus: float = 0.2,
    rest_height: float = 0.02,
    full_lift: Positive = 0.1,
) -> Tensor:
    """-1 while an object is not at its goal, and a bonus for how far it is above its rest.  (…, 3), (…, 3) -> (…)"""
    away = torch.linalg.vector_norm(achieved - desired, dim=-1) > radius
    return lift_bonus * (achieved[..., 2] - rest_height).clamp(0.0, full_lift) / full_lift - away.float()


def object_distance(env: Env, entity: EntityRef, command: str) -> Tensor:
    """Distance of an object from its goal, metres.  (N,)"""
    return torch.linalg.vector_norm(object_to_command(env, entity, command), dim=-1)


def object_at_command(env: Env, entity: EntityRef, command: str, radius: NonNegative) -> Tensor:
    """An object is at its goal.  (N,) bool"""
    return object_distance(env, entity, command) <= radius


def object_below(env: Env, entity: EntityRef, height: float) -> Tensor:
    """An object has fallen below a height, metres.  (N,) bool"""
    return object_pos(env, entity)[:, 2] < height


def place_object(env: Env, env_ids: Tensor, entity: EntityRef, xy: NonNegative) -> None:
    """An object at rest at its default pose, moved by U(-xy, xy) along x and y."""
    pose = entity.default_root_pose.repeat(len(env_ids), 1)
    pose[:, :2] += env.streams.uniform(f"event/place_object/{entity.name}", (len(env_ids), 2), -xy, xy)
    entity.write_root(env_ids, pose[:, :3], pose[:, 3:], torch.zeros(len(env_ids), 6, device=env.device))
