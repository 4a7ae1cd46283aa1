"""Contacts: net forces of all contact sensors of the scene, and how long each has been touching or in the air."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from genelab.core.table import Table
from genelab.envs.managers.base import Manager

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv

CONTACT_FORCE = 1.0
"""A sensor is in contact while its net force is above this, newtons."""


class ContactManager(Manager):
    """Reads every contact sensor once per control step. Sensors are in the order of the scene's config."""

    buffers = ("force", "in_contact", "first_contact", "air_time", "contact_time", "last_air_time")

    def __init__(self, env: "ManagerBasedRlEnv"):
        self._engine = env.engine
        self.names = list(env.scene.contact_slices)
        shape = (env.num_envs, len(self.names))
        self.force = torch.zeros(*shape, 3, device=env.device)
        """(N, S, 3) net force on the sensor's side, world frame, newtons."""
        self.in_contact = torch.zeros(shape, dtype=torch.bool, device=env.device)
        """(N, S)"""
        self.first_contact = torch.zeros_like(self.in_contact)
        """(N, S) it was in the air one step ago."""
        self.air_time = torch.zeros(shape, device=env.device)
        """(N, S) seconds since the last contact; 0 in contact."""
        self.contact_time = torch.zeros_like(self.air_time)
        """(N, S) seconds since touch-down; 0 in the air."""
        self.last_air_time = torch.zeros_like(self.air_time)
        """(N, S) length of the flight before the present or last contact."""

    def step(self, dt: float) -> None:
        """Take over the forces of the last physics step."""
        if not self.names:
            return
        self.force = torch.stack([self._engine.contact(name) for name in self.names], dim=1)
        self.in_contact = self.force.square().sum(dim=-1) > CONTACT_FORCE**2
        self.first_contact = self.in_contact & (self.air_time > 0.0)
        self.last_air_time = torch.where(self.first_contact, self.air_time, self.last_air_time)
        self.air_time = (self.air_time + dt).masked_fill(self.in_contact, 0.0)
        self.contact_time = (self.contact_time + dt).masked_fill(~self.in_contact, 0.0)

    def tables(self) -> list[Table]:
        return [Table(("name",), [(name,) for name in self.names], "contact sensors")]

    def reset(self, env_ids: Tensor) -> None:
        if self.names:
            for name in self.buffers:
                getattr(self, name)[env_ids] = 0
