"""Whether an exported policy does what the policy does: both on the same observations of a real rollout."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Policy
from genelab.rl.deployed import flat

TOLERANCE = 1e-5
"""Largest difference between the actions of a policy and those of its export."""

Runtime = Callable[[Tensor, list[Tensor], Tensor], Tensor]
"""A loaded export: raw observations (N, D), images (N, C, H, W) and where an episode starts (N,) to actions (N, A)."""


@dataclass(frozen=True)
class Recording:
    """What a policy saw and did in T control steps of N worlds."""

    obs: Tensor
    """(T, N, D) raw: with noise, before scale and clip."""
    starts: Tensor
    """(T, N) bool: the observation is the first of its episode."""
    actions: Tensor
    """(T, N, A)"""
    images: tuple[Tensor, ...] = ()
    """(T, N, C, H, W) for each observation group that is an image, raw too."""

    @property
    def observations(self) -> int:
        return self.obs.shape[0] * self.obs.shape[1]


@torch.no_grad()
def record(env: ManagerBasedRlEnv, policy: Policy, steps: int, seed: int = 0) -> Recording:
    """Let a policy act, and keep its observations as sensors would give them.

    All worlds start anew half-way, so that every recording shows whether recurrent states are forgotten in time.
    """
    obs, images, starts, actions = [], [], [], []
    flat_groups, image_groups = policy.deployed.obs_groups, policy.deployed.image_groups
    with env.observation_manager.raw((*flat_groups, *image_groups)) as groups:
        for step in range(steps):
            if step in (0, steps // 2):
                env.reset(seed + step)
                policy.reset()
                started = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
            seen = env.obs | {group.name: group.process_raw(env.obs[group.name]) for group in groups}
            obs.append(flat(env.obs, flat_groups).cpu())
            images.append([env.obs[name].cpu() for name in image_groups])
            starts.append(started.cpu())
            actions.append(policy.act(seen).cpu())
            _, _, terminated, truncated, _ = env.step(actions[-1].to(env.device))
            started = terminated | truncated
            policy.reset(started.nonzero().flatten())
    pictures = tuple(torch.stack(steps) for steps in zip(*images, strict=True))
    return Recording(torch.stack(obs), torch.stack(starts), torch.stack(actions), pictures)


def load_torchscript(path: Path, num_envs: int, recurrent: bool) -> Runtime:
    """TorchScript in torch. A recurrent policy has room for one robot's state: one copy per world."""
    modules = [torch.jit.load(str(path)).eval() for _ in range(num_envs if recurrent else 1)]

    @torch.no_grad()
    def act(obs: Tensor, images: list[Tensor], starts: Tensor) -> Tensor:
        if not recurrent:
            return modules[0](obs, images) if images else modules[0](obs)
        for module, first in zip(modules, starts.tolist(), strict=True):
            if first:
                module.reset()
        rows = [(obs[i : i + 1], [image[i : i + 1] for image in images]) for i in range(num_envs)]
        return torch.cat([m(*row) if images else m(row[0]) for m, row in zip(modules, rows, strict=True)])

    return act


def load_onnx(path: Path, num_envs: int) -> Runtime:
    """ONNX in onnxruntime, all worlds at once, from bytes: the file must need no other."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    pictures = [port.name for port in session.get_inputs() if len(port.shape) == 4]
    states: dict[str, Any] = {
        port.name: np.zeros((port.shape[0], num_envs, port.shape[2]), np.float32)
        for port in session.get_inputs()
        if len(port.shape) == 3
    }

    def act(obs: Tensor, images: list[Tensor], starts: Tensor) -> Tensor:
        for name in states:
            states[name][:, starts.numpy()] = 0.0
        seen = {name: image.numpy() for name, image in zip(pictures, images, strict=True)}
        actions, *after = (np.asarray(output) for output in session.run(None, {"obs": obs.numpy(), **seen, **states}))
        states.update(zip(list(states), after, strict=True))
        return torch.from_numpy(actions)

    return act


def max_error(runtime: Runtime, recording: Recording) -> float:
    """Largest difference between the recorded actions and those of a loaded export. NaN if either is."""
    errors = [
        (runtime(recording.obs[t], [image[t] for image in recording.images], recording.starts[t]) - actions).abs().max()
        for t, actions in enumerate(recording.actions)
    ]
    return float(torch.stack(errors).max())
