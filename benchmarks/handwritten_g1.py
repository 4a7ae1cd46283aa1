"""The G1 on flat ground as one would write it by hand for speed, around `mujoco.batch.Batch`.

Same model, observations, rewards with their ramps, ends, pushes, commands and randomisation as the task
`Genelab-Velocity-Flat-Unitree-G1-v0` with its preset `cpu`, and nothing else: no configs, no managers. Shortcuts a hand
would take: feet and masses are where they were before the last substep, feet velocities are differences of positions
(none in the first step of an episode), angular momentum is of the world's own masses, and physics does not break down.

Numbers of joints lie in rows (N, 29); everything smaller in columns (k, N), which torch is fast on.
"""

import math
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco.batch import Batch
from tensordict import TensorDict
from torch import Tensor

from genelab.core.tensors import one_torch_thread

DT, LENGTH, FADE, NEAR = 0.02, 1000, 600 * 24, 700 * 24
LEG = ((0.3, 0.5), (0.15, 0.2), (0.15, 0.2), (0.35, 0.6), (0.25, 0.35), (0.1, 0.15))
WAIST = ((0.2, 0.3), (0.08, 0.08), (0.1, 0.2))
ARM = ((0.15, 0.5), (0.15, 0.2), (0.1, 0.15), (0.15, 0.35), (0.3, 0.3), (0.3, 0.3), (0.3, 0.3))
SIGMAS = (*LEG, *LEG, *WAIST, *ARM, *ARM)  # how far joints may be from the default pose when walking and when running
PUSH = np.array([0.5, 0.5, 0.4, 0.52, 0.52, 0.78])
COMMAND = torch.tensor([[1.0], [1.0], [0.5]])


def columns(array: np.ndarray) -> Tensor:
    """(N, …) float64 as (…, N) float32."""
    return torch.from_numpy(array.reshape(len(array), -1).T.astype(np.float32, order="C"))


class G1:
    """The task, written out."""

    num_actions = 29

    def __init__(self, model: mujoco.MjModel, num_envs: int, substeps: int, default_qpos: np.ndarray):
        self.num_envs = n = num_envs
        self.substeps, self.steps = substeps, 0
        self.batch = Batch(model, n, 0)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.sensors, self.sites, self.inertia = (self.batch.bind(name) for name in ("sensordata", "site_xpos", "M"))
        self.feet = slice(model.site("robot/left_foot").id, model.site("robot/right_foot").id + 1)
        # The rows of the mass matrix that belong to the root, of which it holds the lower triangle.
        row, column = np.meshgrid(range(6), range(model.nv), indexing="ij")
        at = model.M_rowadr[np.maximum(row, column)] + np.minimum(row, column)
        self.root_rows = torch.tensor(at.flatten(), dtype=torch.int64)
        self.mass = float(model.body_mass.sum())
        self.randomize(model)
        self.low, self.high = torch.tensor(model.jnt_range[1:], dtype=torch.float32).unbind(dim=1)
        self.scale = torch.tensor(0.25 * model.actuator_forcerange[:, 1] / model.actuator_gainprm[:, 0]).float()
        self.default_qpos = default_qpos
        self.default = torch.tensor(default_qpos[7:], dtype=torch.float32)
        self.bias = torch.rand(n, 29) * 0.03 - 0.015
        self.target, self.shown = self.default - self.bias, self.bias - self.default
        self.pose = 1.0 / (torch.tensor([(0.05, *moving) for moving in SIGMAS]).square() * 29)
        self.gaits = torch.tensor([0.05, 1.5])
        self.noise = torch.tensor([0.2] * 3 + [0.05] * 3 + [0.01] * 29 + [1.5] * 29)
        data: Any = mujoco.MjData(model)
        data.qpos[:] = default_qpos
        mujoco.mj_kinematics(model, data)
        self.first = torch.zeros(111)
        self.first[5], self.first[99:101] = -1.0, torch.tensor(data.site_xpos[self.feet, 2])
        self.down = torch.tensor([[0.0], [0.0], [-1.0]]).expand(3, n)
        self.next_push, self.next_command = torch.zeros(n), torch.zeros(n)
        self.action, self.command = torch.zeros(n, 29), torch.zeros(3, n)
        self.air, self.peak, self.last_feet = torch.zeros(2, n), torch.zeros(2, n), torch.zeros(2, 3, n)
        self.time, self.fresh = torch.zeros(n, dtype=torch.int64), torch.arange(n)
        self.reset(self.fresh)
        self.time = torch.randint(0, LENGTH, (n,))
        self.read()
        self.obs = self.observe(self.air > 0.0)

    def randomize(self, model: mujoco.MjModel) -> None:
        """Friction of the feet and centre of mass of the torso, for each world its own."""
        soles = [i for i in range(model.ngeom) if "_foot_" in model.geom(i).name]
        self.batch.expand("geom_friction")[:, soles, 0] = np.random.uniform(0.3, 1.2, (self.num_envs, 1))
        com, offset = self.batch.expand("body_ipos"), np.array([0.025, 0.025, 0.03])
        com[:, model.body("robot/torso_link").id] += np.random.uniform(-offset, offset, (self.num_envs, 3))
        self.batch.set_const()

    def reset(self, ids: Tensor) -> None:
        rows, n = ids.numpy(), len(ids)
        self.batch.state[rows] = 0.0
        qpos = np.tile(self.default_qpos, (n, 1))
        qpos[:, :2] += np.random.uniform(-0.5, 0.5, (n, 2))
        half = np.random.uniform(-math.pi, math.pi, n) / 2.0
        qpos[:, 3], qpos[:, 6] = np.cos(half), np.sin(half)
        self.qpos[rows] = qpos
        self.action[ids], self.air[:, ids], self.peak[:, ids] = 0.0, 0.0, 0.0
        self.time[ids], self.next_push[ids] = 0, torch.rand(n) * 2.0 + 1.0
        self.draw_commands(ids)

    def draw_commands(self, ids: Tensor) -> None:
        draw = torch.rand(4, len(ids))
        command = (2.0 * draw[:3] - 1.0) * COMMAND * min(0.3 + 0.7 * self.steps / (FADE / 2), 1.0)
        forward = (draw[3] >= 0.1) & (draw[3] < 0.3)
        command[0, forward] = command[0, forward].abs().clamp(min=0.3)
        command[1:, forward] = 0.0
        command[:, draw[3] < 0.1] = 0.0
        self.command[:, ids] = command
        self.next_command[ids] = torch.rand(len(ids)) * 5.0 + 3.0

    def read(self) -> None:
        """State in float32; forces on the feet, velocity and gravity in the pelvis' frame."""
        root, self.speed = columns(self.qpos[:, 2:7]), torch.from_numpy(self.qvel).float()
        self.joints, self.height = torch.from_numpy(self.qpos[:, 7:]).float(), root[0]
        rates, felt = columns(self.qvel[:, :6]), columns(self.sensors)
        self.spin, self.force = rates[3:], felt.view(6, 3, -1).square().sum(dim=1)
        vectors = torch.stack((rates[:3], self.down, -felt[:3], -felt[3:6]))
        w, axis = root[1], root[2:].expand_as(vectors)
        turn = 2.0 * torch.linalg.cross(vectors, axis, dim=1)
        self.velocity, self.gravity, *self.felt = vectors + w * turn + torch.linalg.cross(turn, axis, dim=1)

    def observe(self, down: Tensor) -> TensorDict:
        """All observations, of a fresh start where there is one."""
        felt = torch.cat(self.felt)
        felt = felt.sign() * felt.abs().log1p()
        more = torch.cat((self.command, self.velocity, self.last_feet[:, 2], self.air, down, felt)).T
        body = torch.cat((self.spin, self.gravity)).T
        critic = torch.cat((body, self.joints + self.shown, self.speed[:, 6:], self.action, more), dim=1)
        if len(ids := self.fresh):
            critic[ids] = self.first
            critic[ids, 6:35], critic[ids, 93:96] = self.bias[ids], self.command[:, ids].T
        policy = critic[:, :96].clone()
        policy[:, :64] += torch.empty(self.num_envs, 64).uniform_(-1.0, 1.0) * self.noise
        return TensorDict({"policy": policy, "critic": critic}, batch_size=[self.num_envs])

    @one_torch_thread()
    def step(self, action: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        action = action.clamp(-100.0, 100.0)
        self.ctrl[:] = torch.addcmul(self.target, self.scale, action).numpy()
        self.batch.step(nstep=self.substeps)
        self.time += 1
        self.steps += 1
        self.next_command -= DT
        due = (self.next_command <= 0.0).nonzero().flatten()
        if len(due):
            self.draw_commands(due)
        self.next_push -= DT
        due = (self.next_push <= 0.0).nonzero().flatten()
        if len(due):
            self.next_push[due] = torch.rand(len(due)) * 2.0 + 1.0
            if self.steps >= FADE:
                self.qvel[due.numpy(), :6] = np.random.uniform(-PUSH, PUSH, (len(due), 6))
        self.read()
        down = self.force[:2] > 1.0
        landed = down & (self.air > 0.0)
        self.air = (self.air + DT).masked_fill(down, 0.0)
        reward = self.reward(action, down, landed)
        self.action = action
        terminated = (self.gravity[2] > -math.cos(0.7)) | (self.height < 0.5)  # before it is tilted by 70 degrees
        time_outs = (self.time >= LENGTH) & ~terminated
        done = terminated | time_outs
        self.fresh = done.nonzero().flatten()
        if len(self.fresh):
            self.reset(self.fresh)
        self.obs = self.observe(down)
        return self.obs, reward, done, {"time_outs": time_outs}

    def reward(self, action: Tensor, down: Tensor, landed: Tensor) -> Tensor:
        gone, (x, y, yaw), (vx, vy, vz), spin = self.steps / FADE, self.command, self.velocity, self.spin
        slowly, fade = min(0.05 + 0.95 * gone, 1.0), max(1.0 - gone, 0.0)
        near = 0.0 if gone < 1.0 else max(1.0 - (self.steps - FADE) / NEAR, 0.0)
        speed, rate = torch.hypot(x, y), yaw.abs()
        size = speed + rate
        off, off_yaw = (x - vx).square() + (y - vy).square(), yaw - spin[2]
        reward = 2.0 * torch.exp((off + vz.square()) / -0.25)
        reward += 2.0 * torch.exp((off_yaw.square() + spin[:2].square().sum(dim=0)) / -0.5)
        along = (vx * x + vy * y) / speed.clamp(min=1e-6)
        reward += 4.0 * fade * (along.minimum(speed) + (spin[2] * yaw.sign()).minimum(rate))
        nearness = (1.0 - off.sqrt() / speed.clamp(min=0.3)).clamp(min=-1.0) + (1.0 - off_yaw.abs()).clamp(min=-1.0)
        reward += 2.0 * near * nearness + fade
        lean, sway = self.torso()
        reward += torch.exp(lean / -0.2) - 0.05 * slowly * sway - 0.02 * slowly * self.angular_momentum()
        errors = (self.joints - self.default).square() @ self.pose
        gait = torch.bucketize(size, self.gaits, right=True)
        reward += torch.exp(-errors.gather(1, gait[:, None])[:, 0])
        reward -= (self.joints - self.joints.clamp(self.low, self.high)).abs().sum(dim=1)
        reward -= 0.1 * slowly * (action - self.action).square().sum(dim=1)
        swinging = ((self.air > 0.05) & (self.air < 0.5)).sum(dim=0)
        alone = (down[0] != down[1]) & (self.air.amax(dim=0) < 0.4) & (size > 0.1)
        reward += swinging * (size > 0.5) + 2.0 * fade * alone
        feet = columns(self.sites[:, self.feet]).view(2, 3, -1)
        moved, height = (feet - self.last_feet)[:, :2].square().sum(dim=1) / DT**2, feet[:, 2]
        moved[:, self.fresh], self.last_feet = 0.0, feet
        missed = (self.peak / 0.1 - 1.0).clamp(-1.0, 3.0).square() * landed
        self.peak = self.peak.maximum(height).masked_fill(down, 0.0)
        steps = slowly * (2.0 * (height - 0.1).abs() * moved.sqrt() + missed)
        steps += 0.1 * moved * down + 1e-5 * self.force[:2].sqrt() * landed
        reward -= steps.sum(dim=0) * (size > 0.05) + (self.force[2:] > 100.0).any(dim=0)
        return reward * DT

    def torso(self) -> tuple[Tensor, Tensor]:
        """Squared horizontal gravity and squared roll and pitch rates in the torso's frame, at the end of the waist."""
        (yaw, roll, pitch), rates = self.joints[:, 12:15].T, self.speed[:, 18:21].T
        x, y, z = torch.stack((self.spin, self.gravity), dim=1)
        cos, sin = yaw.cos(), yaw.sin()
        x, y = cos * x + sin * y, cos * y - sin * x
        z[0] += rates[0]
        cos, sin = roll.cos(), roll.sin()
        y, z = cos * y + sin * z, cos * z - sin * y
        x[0] += rates[1]
        x = pitch.cos() * x - pitch.sin() * z
        y[0] += rates[2]
        sway, lean = x.square() + y.square()
        return lean, sway

    def angular_momentum(self) -> Tensor:
        """Squared, about the centre of mass: what the root's rows of the mass matrix say, less that of the centre."""
        inertia = torch.from_numpy(self.inertia.astype(np.float32))
        rows = inertia.index_select(1, self.root_rows).view(-1, 6, 35)
        momentum = torch.bmm(rows, self.speed[:, :, None])
        own = torch.baddbmm(momentum[:, 3:], rows[:, 3:, :3], momentum[:, :3], alpha=-1.0 / self.mass)
        return own.square().sum(dim=(1, 2))
