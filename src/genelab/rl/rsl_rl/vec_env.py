"""The environment as rsl_rl sees it."""

from typing import Any

import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv


class RslRlVecEnv(VecEnv):
    """Observation groups as a TensorDict, terminated and truncated as one ``dones``."""

    def __init__(self, env: ManagerBasedRlEnv):
        self.env = env
        self.num_envs = env.num_envs
        self.num_actions = env.num_actions
        self.max_episode_length = env.max_episode_length
        self.device = env.device
        self.cfg = env.cfg

    @property
    def episode_length_buf(self) -> Tensor:  # type: ignore[override]
        return self.env.episode_length_buf

    def get_observations(self) -> TensorDict:
        return self._wrap(self.env.obs)

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        obs, rewards, terminated, truncated, extras = self.env.step(actions)
        extras["time_outs"] = truncated
        return self._wrap(obs), rewards, torch.logical_or(terminated, truncated), extras

    def _wrap(self, obs: dict[str, Tensor]) -> TensorDict:
        return TensorDict(obs, batch_size=[self.num_envs], device=self.device)  # type: ignore[arg-type]
