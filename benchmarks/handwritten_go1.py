"""The Go1 on flat ground as one would write it by hand for speed, around `mujoco.batch.Batch`.

Same model, observations, rewards, ends, pushes and commands as the task `Genelab-Velocity-Flat-Unitree-Go1-v0`, and
nothing else: no configs, no managers. One shortcut a hand would take: feet velocities are differences of positions.
"""

import math
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from tensordict import TensorDict
from torch import Tensor

DT, LENGTH = 0.02, 1000
LEGS = ("FR", "FL", "RR", "RL")


class Go1:
    """The task, written out."""

    num_actions = 12

    def __init__(self, model: mujoco.MjModel, num_envs: int, substeps: int, default_qpos: np.ndarray):
        self.num_envs = n = num_envs
        self.substeps = substeps
        self.batch = Batch(model, n, 0)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.sensors, self.force, self.geoms = (
            self.batch.bind(name) for name in ("sensordata", "actuator_force", "geom_xpos")
        )
        self.feet = [model.geom(f"robot/{leg}_foot").id for leg in LEGS]
        limits = torch.tensor(model.jnt_range[-12:], dtype=torch.float32)
        self.low, self.high = limits[:, 0], limits[:, 1]
        self.default_qpos = default_qpos
        self.default = torch.tensor(default_qpos[7:], dtype=torch.float32)
        noise = [0.2] * 3 + [0.05] * 3 + [0.01] * 12 + [1.5] * 12 + [0.0] * 15
        self.noise = torch.tensor(noise)
        self.time = torch.randint(0, LENGTH, (n,))
        self.next_push, self.next_command = torch.rand(n) * 2.0 + 1.0, torch.rand(n) * 5.0 + 3.0
        self.action, self.last_vel = torch.zeros(n, 12), torch.zeros(n, 12)
        self.air, self.command = torch.zeros(n, 4), torch.zeros(n, 3)
        self.last_feet = torch.zeros(n, 4, 3)
        self.reset(torch.arange(n))
        self.obs = self.observe()

    def reset(self, ids: Tensor) -> None:
        rows, n = ids.numpy(), len(ids)
        self.batch.state[rows] = 0.0
        qpos = np.tile(self.default_qpos, (n, 1))
        qpos[:, :2] += np.random.uniform(-0.5, 0.5, (n, 2))
        half = np.random.uniform(-math.pi, math.pi, n) / 2.0
        qpos[:, 3], qpos[:, 6] = np.cos(half), np.sin(half)
        self.qpos[rows] = qpos
        self.action[ids], self.last_vel[ids], self.air[ids] = 0.0, 0.0, 0.0
        self.draw_commands(ids)

    def draw_commands(self, ids: Tensor) -> None:
        command = torch.rand(len(ids), 3) * 2.0 - 1.0
        kind = torch.rand(len(ids))
        forward = (kind >= 0.1) & (kind < 0.2)
        command[forward, 0] = command[forward, 0].abs().clamp(min=0.3)
        command[forward, 1:] = 0.0
        command[kind < 0.1] = 0.0
        self.command[ids] = command
        self.next_command[ids] = torch.rand(len(ids)) * 5.0 + 3.0

    def read(self) -> None:
        """State in float32, and velocity and gravity in the trunk's frame."""
        q, qd = torch.from_numpy(self.qpos).float(), torch.from_numpy(self.qvel).float()
        self.height, self.joints, self.speeds, self.spin = q[:, 2], q[:, 7:], qd[:, 6:], qd[:, 3:6]
        w, axis = q[:, 3:4], q[:, 4:7]
        turn = 2.0 * torch.linalg.cross(qd[:, :3], axis)
        self.velocity = qd[:, :3] + w * turn + torch.linalg.cross(turn, axis)
        w, (x, y, z) = q[:, 3], axis.T
        self.gravity = torch.stack((2 * (w * y - x * z), -2 * (w * x + y * z), 2 * (x * x + y * y) - 1), dim=1)

    def observe(self) -> TensorDict:
        self.read()
        clean = torch.cat(
            (self.spin, self.gravity, self.joints - self.default, self.speeds, self.action, self.command), dim=1
        )
        noisy = clean + (torch.rand_like(clean) * 2.0 - 1.0) * self.noise
        return TensorDict(
            {"policy": noisy, "critic": torch.cat((clean, self.velocity), dim=1)}, batch_size=[self.num_envs]
        )

    def step(self, action: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        action = action.clamp(-100.0, 100.0)
        self.ctrl[:] = (self.default + 0.25 * action).numpy()
        self.batch.step(nstep=self.substeps)
        self.time += 1
        touching = torch.from_numpy(self.sensors).float().view(self.num_envs, 8, 3).square().sum(dim=2) > 1.0
        down = touching[:, :4]
        self.air = (self.air + DT).masked_fill(down, 0.0)
        self.next_command -= DT
        due = (self.next_command <= 0.0).nonzero().flatten()
        if len(due):
            self.draw_commands(due)
        self.next_push -= DT
        due = (self.next_push <= 0.0).nonzero().flatten()
        if len(due):
            self.qvel[due.numpy()[:, None], [0, 1, 5]] = np.random.uniform(-0.5, 0.5, (len(due), 3))
            self.next_push[due] = torch.rand(len(due)) * 2.0 + 1.0
        self.read()
        reward = self.reward(action, down, touching[:, 4:])
        self.action = action.clone()
        terminated = self.gravity[:, 2] > -math.cos(math.radians(70.0))
        time_outs = (self.time >= LENGTH) & ~terminated
        done = terminated | time_outs
        ids = done.nonzero().flatten()
        if len(ids):
            self.reset(ids)
            self.time[ids] = 0
        self.obs = self.observe()
        return self.obs, reward, done, {"time_outs": time_outs}

    def reward(self, action: Tensor, down: Tensor, thighs: Tensor) -> Tensor:
        command = self.command
        size = command[:, :2].norm(dim=1) + command[:, 2].abs()
        feet = torch.from_numpy(self.geoms[:, self.feet]).float()
        slip = (((feet - self.last_feet)[..., :2] / DT).square().sum(dim=2) * down).sum(dim=1)
        self.last_feet = feet
        swinging = ((self.air > 0.1) & (self.air < 0.5)).sum(dim=1)
        beyond = (self.low - self.joints).clamp(min=0.0) + (self.joints - self.high).clamp(min=0.0)
        acceleration = (self.speeds - self.last_vel) / DT
        self.last_vel = self.speeds
        reward = 2.0 * torch.exp(-(command[:, :2] - self.velocity[:, :2]).square().sum(dim=1) / 0.25)
        reward += torch.exp(-(command[:, 2] - self.spin[:, 2]).square() / 0.25)
        reward += 0.25 * swinging * (size > 0.1) - 0.1 * slip * (size > 0.05)
        reward -= 2.0 * self.velocity[:, 2].square() + 0.05 * self.spin[:, :2].square().sum(dim=1)
        reward -= self.gravity[:, :2].square().sum(dim=1) + (self.height - 0.34).square()
        reward -= 2e-4 * torch.from_numpy(self.force).float().square().sum(dim=1)
        reward -= 1e-5 * acceleration.square().sum(dim=1) + 0.01 * (action - self.action).square().sum(dim=1)
        reward -= beyond.sum(dim=1) + thighs.any(dim=1).float()
        return reward * DT
