"""Observations: terms side by side, then noise, scale and clip for a whole group at once, then history.

The terms of a group are vectors (N, d), which lie side by side, or images (N, C, H, W) of one size, which lie channel
upon channel. Frames of a history follow each other in the same dimension, oldest first.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.table import Table
from genelab.core.tensors import restore
from genelab.envs.cfg import ObservationGroupCfg
from genelab.envs.managers.base import TermManager, first_line
from genelab.envs.terms import Env, Term, check_shape

Shape = tuple[int, ...]


class ObservationGroup:
    """The layout of one group and its history buffer."""

    def __init__(self, name: str, cfg: ObservationGroupCfg, slots: list[int], shapes: list[Shape], env: Env):
        self.name, self.cfg, self._env, self.slots = name, cfg, env, slots
        """Which of the manager's term values go into this group, in order."""
        self.term_shapes = dict(zip(cfg.terms, shapes, strict=True))
        """Shape of each term in one world."""
        self.frame_shape = _side_by_side(name, self.term_shapes)
        """Shape of one frame: (d,), or (C, H, W) for images."""
        self.shape = (self.frame_shape[0] * cfg.history, *self.frame_shape[1:])
        """Shape of the whole observation of one world."""
        self.term_dims = {term: math.prod(shape) for term, shape in self.term_shapes.items()}
        """Number of values of each term."""
        self.frame_dim, self.dim = math.prod(self.frame_shape), math.prod(self.shape)
        terms = list(cfg.terms.values())

        def per_column(values: Iterable[float]) -> Tensor:
            """One value for each term, spread over its columns or channels."""
            parts = [torch.full((s[0],), v, device=env.device) for s, v in zip(shapes, values, strict=True)]
            return torch.cat(parts).view(-1, *(1,) * (len(self.frame_shape) - 1))

        noise, self.scale = per_column([term.noise for term in terms]), per_column([term.scale for term in terms])
        limits = zip(*(term.clip or (-torch.inf, torch.inf) for term in terms), strict=True)
        self.low, self.high = map(per_column, limits)
        self._noise = noise if cfg.noise and bool(noise.any()) else None
        self.scales, self.clips = bool((self.scale != 1.0).any()), any(term.clip is not None for term in terms)
        """Whether there is anything to scale, and to clip."""
        self.history = torch.zeros(env.num_envs, cfg.history, *self.frame_shape, device=env.device)
        self.raw = False
        """Whether scale and clip are left to the reader; see `ObservationManager.raw`."""

    @property
    def is_image(self) -> bool:
        return len(self.shape) > 1

    def frame(self, values: list[Tensor]) -> Tensor:
        """One frame (rows, *frame_shape) from the values of the manager's terms."""
        frame = torch.cat([values[slot] for slot in self.slots], dim=1).float()
        if self._noise is not None:
            frame += self._env.streams.uniform(f"noise/{self.name}", frame.shape, -1.0, 1.0).mul_(self._noise)
        return frame if self.raw else self.process(frame)

    def process_raw(self, observations: Tensor) -> Tensor:
        """Scale and clip what the group gave while it was raw.  (N, *shape)"""
        frames = observations.clone().unflatten(1, (self.cfg.history, self.frame_shape[0]))
        return self.process(frames).flatten(1, 2)

    def process(self, frames: Tensor) -> Tensor:
        """Scale and clip raw frames (…, *frame_shape). `frames` itself may change."""
        if self.scales:
            frames *= self.scale
        return torch.clamp(frames, self.low, self.high) if self.clips else frames

    def term_at(self, index: int) -> str:
        """The term that a value of one world belongs to, by its index in the flattened observation."""
        ends = list(itertools.accumulate(self.term_dims.values()))
        return list(self.term_dims)[bisect.bisect_right(ends, index % self.frame_dim)]

    def table(self) -> Table:
        """A row per term. Noise is shown where the group applies it."""
        columns = ("name", "size", "noise", "scale", "clip", "description", "parameters")
        rows = []
        for (name, shape), cfg in zip(self.term_shapes.items(), self.cfg.terms.values(), strict=True):
            noise = f"±{cfg.noise:g}" if self.cfg.noise and cfg.noise else None
            scale = cfg.scale if cfg.scale != 1.0 else None
            size = shape[0] if len(shape) == 1 else shape
            rows.append((name, size, noise, scale, cfg.clip, first_line(cfg.func), cfg.params))
        frames = f" x {self.cfg.history} frames" if self.cfg.history > 1 else ""
        return Table(columns, rows, f"observations: {self.name} ({' x '.join(map(str, self.frame_shape))}{frames})")


class ObservationManager(TermManager):
    """Computes all groups. A term that several groups share is evaluated once."""

    def __init__(self, cfg: dict[str, ObservationGroupCfg], env: Env):
        super().__init__({}, env)
        self.groups: dict[str, ObservationGroup] = {}
        shapes: list[Shape] = []
        for group_name, group_cfg in cfg.items():
            if not group_cfg.terms:
                raise UserError(f"observation group '{group_name}' has no terms")
            slots = []
            for name, term_cfg in group_cfg.terms.items():
                alike = (t.cfg.func is term_cfg.func and t.cfg.params == term_cfg.params for t in self.terms)
                slot = next((i for i, same in enumerate(alike) if same and self.terms[i].instance is None), None)
                if slot is None:
                    slot = len(self.terms)
                    term = Term("observation", f"{group_name}.{name}", term_cfg, env)
                    value = term.checked()
                    image = isinstance(value, Tensor) and value.dim() == 4
                    check_shape(term, value, (env.num_envs, -1, -1, -1) if image else (env.num_envs, -1))
                    self.terms.append(term)
                    shapes.append(tuple(value.shape[1:]))
                slots.append(slot)
            self.groups[group_name] = ObservationGroup(group_name, group_cfg, slots, [shapes[s] for s in slots], env)

    def compute(self) -> dict[str, Tensor]:
        """Observations of the present state, (N, *shape) per group; pushes one frame into the histories."""
        values = [term() for term in self.terms]
        observations = {}
        for name, group in self.groups.items():
            frame = group.frame(values)
            if group.cfg.history > 1:
                group.history = torch.cat((group.history[:, 1:], frame.unsqueeze(1)), dim=1)
                frame = group.history.flatten(1, 2).clone()  # the history goes on changing
            observations[name] = frame
        return observations

    @contextmanager
    def raw(self, names: Iterable[str]) -> Iterator[list[ObservationGroup]]:
        """These groups, which leave scale and clip to the reader, such as an exported policy, in this context."""
        groups = [self.groups[name] for name in names]
        try:
            for group in groups:
                group.raw = True
            yield groups
        finally:
            for group in groups:
                group.raw = False

    def peek(self, name: str) -> Tensor:
        """One group's processed values of the present state, (N, *shape). Only for groups without noise and history."""
        group = self.groups[name]
        return group.process(torch.cat([self.terms[slot]() for slot in group.slots], dim=1).float())

    def compute_first(self, env_ids: Tensor, observations: dict[str, Tensor]) -> dict[str, Tensor]:
        """`observations` with the rows of worlds that have just been reset replaced by their first observation."""
        values = [self._value_after_reset(term, env_ids) for term in self.terms]
        for name, group in self.groups.items():
            first = group.frame(values)
            if group.cfg.history > 1:
                frames = first.unsqueeze(1).expand(-1, group.cfg.history, *group.frame_shape)
                group.history[env_ids] = frames
                first = frames.flatten(1, 2)
            observations[name] = observations[name].index_copy(0, env_ids, first)
        return observations

    def tables(self) -> list[Table]:
        return [group.table() for group in self.groups.values()]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "history": {name: g.history.clone() for name, g in self.groups.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        for name, group in self.groups.items():
            restore(group.history, state["history"], name)

    def require_vectors(self, names: Iterable[str], reader: str) -> None:
        """Raise if one of these groups is an image, which the reader cannot make use of."""
        for name in names:
            if self.groups[name].is_image:
                raise UserError(f"observation group '{name}' has the shape {self.groups[name].shape}, but {reader}")

    def remembers(self, name: str) -> bool:
        """Whether a term of this group has a state, so that it cannot be evaluated twice in a step."""
        return any(self.terms[slot].instance is not None for slot in self.groups[name].slots)

    def _value_after_reset(self, term: Term, env_ids: Tensor) -> Tensor:
        """A term's value in worlds that have just been reset. For the others, nothing it remembers moves on."""
        if term.instance is None:
            return term()[env_ids]
        before = term.instance.state_dict()
        value = term()[env_ids]
        for name, remembered in before.items():
            after = getattr(term.instance, name)
            after.copy_(remembered.index_copy(0, env_ids, after[env_ids]))
        return value


def _side_by_side(group: str, shapes: dict[str, Shape]) -> Shape:
    """The shape of terms together: vectors side by side, or images of one size channel upon channel."""
    (first, expected), *others = shapes.items()
    for name, shape in others:
        terms = f"'{first}' is {expected}, '{name}' is {shape}"
        if len(shape) != len(expected):
            raise UserError(f"observation group '{group}' mixes vectors and images: {terms}; give each its own group")
        if shape[1:] != expected[1:]:
            raise UserError(f"observation group '{group}' has images of different sizes: {terms}")
    return (sum(shape[0] for shape in shapes.values()), *expected[1:])
