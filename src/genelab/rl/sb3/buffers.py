"""Replay buffers of stable-baselines3: made, filled for all worlds at once, normalised when read."""

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import torch
from rsl_rl.modules import EmpiricalNormalization
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer
from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import Sb3AgentCfg

OBSERVATION, ACHIEVED, DESIRED = "observation", "achieved_goal", "desired_goal"
"""sb3's names for the parts of a goal-conditioned observation."""
Observation = np.ndarray | dict[str, np.ndarray]
Tensors = Tensor | dict[str, Tensor]
_CUT_OFF: dict[str, Any] = {"TimeLimit.truncated": True}
_NOTHING: dict[str, Any] = {}


class Hindsight(HerReplayBuffer):
    """sb3's hindsight buffer, looking only at worlds in which something begins or ends instead of at all of them."""

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        for world in np.flatnonzero(self.ep_length[self.pos]):  # an old episode that is overwritten from here on
            end = self.ep_start[self.pos, world] + self.ep_length[self.pos, world]
            self.ep_length[np.arange(self.pos, end) % self.buffer_size, world] = 0
        self.ep_start[self.pos] = self._current_ep_start
        DictReplayBuffer.add(self, obs, next_obs, action, reward, done, infos)
        for world in np.flatnonzero(done):
            self._compute_episode_length(int(world))


def make_buffer(
    env: ManagerBasedRlEnv, cfg: Sb3AgentCfg, observations: gymnasium.Space, actions: gymnasium.Space, training: bool
) -> ReplayBuffer:
    """An empty replay buffer, with room for nothing unless `training`."""
    size = cfg.off_policy.buffer_size if training else env.num_envs
    shared = {"device": env.device, "n_envs": env.num_envs}
    if not cfg.her:
        return ReplayBuffer(size, observations, actions, **shared)
    goal = env.goal
    if goal is None:
        raise UserError("agent.her needs a goal-conditioned task: the environment config has no goal")
    if training and size // env.num_envs <= env.max_episode_length:
        room = f"{size // env.num_envs} steps of {env.num_envs} worlds"
        need = f"hindsight needs whole episodes, which have {env.max_episode_length}"
        raise UserError(f"agent.off_policy.buffer_size {size} holds {room}: {need}")

    def rewards(name: str, achieved: np.ndarray, desired: np.ndarray, infos: Any, indices: Any) -> list[np.ndarray]:
        """What would be paid for other goals, as one array in a list, as sb3 expects of its first environment."""
        return [goal.reward(*(torch.from_numpy(part).to(env.device) for part in (achieved, desired))).cpu().numpy()]

    goals = {"n_sampled_goal": cfg.her_goals, "goal_selection_strategy": cfg.her_strategy}
    asked = SimpleNamespace(env_method=rewards)  # all that it asks of an environment
    buffer = Hindsight(size, observations, actions, asked, **goals, **shared)  # type: ignore[arg-type]
    buffer.infos = None  # type: ignore[assignment]  # a dict per transition that is never read
    return buffer


def store(
    buffer: ReplayBuffer,
    obs: Observation,
    next_obs: Observation,
    actions: Tensor,
    rewards: Tensor,
    terminated: Tensor,
    truncated: Tensor,
) -> None:
    """Add one control step of all worlds. `next_obs` are the true last observations where an episode ended."""
    infos = [_CUT_OFF if cut else _NOTHING for cut in (truncated & ~terminated).tolist()]
    done = (terminated | truncated).cpu().numpy()
    buffer.add(obs, next_obs, actions.cpu().numpy(), rewards.cpu().numpy(), done, infos)  # type: ignore[arg-type]


def arrays_of(buffer: ReplayBuffer) -> dict[str, np.ndarray]:
    """Everything a buffer keeps per transition, by name."""
    names = ["observations", "next_observations", "actions", "rewards", "dones", "timeouts"]
    if isinstance(buffer, HerReplayBuffer):
        names += ["ep_start", "ep_length"]
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        value = getattr(buffer, name)
        arrays |= {f"{name}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
    return arrays


class Normalizer(nn.Module):
    """Normalises observations, or parts of a goal-conditioned one, for buffers in the place of sb3's `VecNormalize`."""

    def __init__(self, widths: dict[str, int]):
        super().__init__()
        self.parts = nn.ModuleDict({name: EmpiricalNormalization(width) for name, width in widths.items()})

    def update(self, obs: Tensors) -> None:
        """Learn from observations of all worlds."""
        for name, part in obs.items() if isinstance(obs, dict) else [(OBSERVATION, obs)]:
            self._part(name).update(part)

    def forward(self, obs: Tensors) -> Any:
        if isinstance(obs, dict):
            return {name: self._part(name)(part) for name, part in obs.items()}
        return self._part(OBSERVATION)(obs)

    def normalize_obs(self, obs: Observation) -> Observation:
        """What a replay buffer hands out."""
        if isinstance(obs, dict):
            return {name: self._of_array(name, part) for name, part in obs.items()}
        return self._of_array(OBSERVATION, obs)

    def normalize_reward(self, rewards: np.ndarray) -> np.ndarray:
        """Rewards stay as they are."""
        return rewards

    def side_by_side(self) -> EmpiricalNormalization:
        """One for all parts in a row, as an exported policy takes them."""
        parts = [self._part(name) for name in self.parts]
        whole = EmpiricalNormalization(sum(part.mean.numel() for part in parts))
        for name in ("_mean", "_var", "_std"):
            whole.register_buffer(name, torch.cat([getattr(part, name) for part in parts], dim=-1))
        return whole

    def _part(self, name: str) -> EmpiricalNormalization:
        part = self.parts[name]
        assert isinstance(part, EmpiricalNormalization)
        return part

    def _of_array(self, name: str, values: np.ndarray) -> np.ndarray:
        part = self._part(name)
        return part(torch.from_numpy(values).to(part.mean.device)).cpu().numpy()
