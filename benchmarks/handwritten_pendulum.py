"""The inverted pendulum as one would write it by hand for speed, around `mujoco.batch.Batch`.

Same model, observations, rewards, ends and pushes as the task `GeneLab-Inverted-Pendulum-v0`, and nothing else: no
configs, no managers. With `handwritten_loop.py` it is the yardstick of `train_throughput.py`.
"""

from typing import Any

import numpy as np
import torch
from mujoco.batch import Batch
from tensordict import TensorDict
from torch import Tensor

DT, SUBSTEPS, LENGTH = 0.01, 2, 1000


class Pendulum:
    """The task, written out."""

    num_actions = 1

    def __init__(self, model: Any, num_envs: int):
        self.num_envs = n = num_envs
        self.batch = Batch(model, n, 0)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.time = torch.randint(0, LENGTH, (n,))
        self.next_push = torch.rand(n) * 3.0 + 2.0
        self.action = torch.zeros(n, 1)
        noise, scale = [0.005] * 2 + [0.05] * 2 + [0.1] * 3 + [0.0], [1.0] * 2 + [0.1] * 2 + [0.2] * 3 + [1.0]
        self.noise, self.scale = torch.tensor(noise), torch.tensor(scale)
        self.reset(np.arange(n))
        self.obs = self.observe()

    def reset(self, ids: np.ndarray) -> None:
        self.batch.state[ids] = 0.0
        self.qpos[ids] = np.random.uniform(-0.05, 0.05, (len(ids), 2))
        self.qvel[ids] = np.random.uniform(-0.05, 0.05, (len(ids), 2))
        self.action[ids] = 0.0

    def observe(self) -> TensorDict:
        q, qd = torch.from_numpy(self.qpos).float(), torch.from_numpy(self.qvel).float()
        spin = torch.zeros(self.num_envs, 3)
        spin[:, 1] = qd[:, 1]
        clean = torch.cat((q, qd, spin, self.action), dim=1)
        noisy = clean + (torch.rand_like(clean) * 2.0 - 1.0) * self.noise
        return TensorDict({"policy": noisy * self.scale, "critic": clean * self.scale}, batch_size=[self.num_envs])

    def step(self, action: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        action = action.clamp(-100.0, 100.0)
        self.ctrl[:] = action.numpy()
        self.batch.step(nstep=SUBSTEPS)
        self.time += 1
        self.next_push -= DT
        due = (self.next_push <= 0.0).nonzero().flatten()
        if len(due):
            self.qvel[due.numpy(), 0] = np.random.uniform(-0.5, 0.5, len(due))
            self.next_push[due] = torch.rand(len(due)) * 3.0 + 2.0
        q, qd = torch.from_numpy(self.qpos).float().T, torch.from_numpy(self.qvel).float().T
        x, theta, xd, thetad = q[0], q[1], qd[0], qd[1]
        rate = (action - self.action).square().sum(dim=1)
        reward = 1.0 + 3.0 * theta.cos() - 0.5 * theta.square() - 0.05 * x.square() - 0.005 * xd.square()
        reward = (reward - 0.01 * thetad.square() - 0.005 * rate) * DT
        self.action = action.clone()
        terminated = (theta.abs() > 0.4) | (x.abs() > 2.4)
        time_outs = (self.time >= LENGTH) & ~terminated
        done = terminated | time_outs
        ids = done.nonzero().flatten()
        self.obs = self.observe()
        if len(ids):
            self.reset(ids.numpy())
            self.time[ids] = 0
            self.obs = self.observe()
        return self.obs, reward, done, {"time_outs": time_outs}
