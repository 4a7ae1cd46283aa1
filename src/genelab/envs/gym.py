"""Tasks as gymnasium environments.

    import gymnasium, genelab
    envs = gymnasium.make_vec("genelab/GeneLab-Inverted-Pendulum-v0", num_envs=16)
    env = gymnasium.make("genelab/GeneLab-Inverted-Pendulum-v0")

Observations are the ``policy`` group, actions nominally lie in [-1, 1], both as float32 numpy arrays. Observations of
goal-conditioned tasks are dicts of ``observation``, ``achieved_goal`` and ``desired_goal``, and the environments have
``compute_reward(achieved_goal, desired_goal, info)``. Keyword arguments: `play` for the environment of play and eval,
`overrides` for a dict of config paths, e.g. ``{"env.rewards.alive.weight": 2}``.
"""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from genelab.core import overrides as config_overrides
from genelab.core.errors import UserError
from genelab.core.registry import find
from genelab.envs.env import ManagerBasedRlEnv

GROUP = "policy"
Observation = np.ndarray | dict[str, np.ndarray]


class GymVectorEnv(VectorEnv):
    """All worlds of one environment.

    Worlds reset in the step in which their episode ends (``SAME_STEP``), or, with ``env.auto_reset`` false, when
    ``reset(options={"reset_mask": …})`` asks for it (``DISABLED``).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        play: bool = False,
        overrides: dict[str, Any] | None = None,
        render_mode: str | None = None,
    ):
        self.env = _make(task, num_envs, play, overrides)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.env.step_dt)}
        if not self.env.cfg.auto_reset:
            self.metadata["autoreset_mode"] = AutoresetMode.DISABLED
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = _spaces(self.env)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start new episodes, everywhere or where the option ``reset_mask`` says so.

        One seed fixes all worlds; of a list the first counts.
        """
        if isinstance(seed, list | tuple):
            seed = seed[0]
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        mask = (options or {}).get("reset_mask")
        worlds = None if mask is None else torch.as_tensor(mask, device=self.env.device).nonzero().flatten()
        return _observe(self.env, self.env.reset(seed=seed, env_ids=worlds)), {}

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        obs, rewards, terminated, truncated, extras = self.env.step(_tensor(actions, self.env))
        infos: dict[str, Any] = {}
        done = (terminated | truncated).cpu().numpy()
        if done.any():
            infos["final_obs"] = _rows(_observe(self.env, extras["final_obs"]), done)
            infos["_final_obs"] = done
        if "is_success" in extras:
            infos["is_success"] = extras["is_success"].cpu().numpy().copy()
        flags = (terminated.cpu().numpy().copy(), truncated.cpu().numpy().copy())
        return _observe(self.env, obs), _numpy(rewards), *flags, infos

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> np.ndarray:
        """Rewards (…,) for reaching goals (…, d) when others were asked for."""
        return _goal_reward(self.env, achieved_goal, desired_goal)

    def render(self) -> tuple[Any, ...] | None:
        """One frame per world."""
        if self.render_mode is None:
            return None
        return tuple(self.env.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self.env.close()


class GymEnv(gymnasium.Env):
    """One world."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(
        self, task: str, play: bool = False, overrides: dict[str, Any] | None = None, render_mode: str | None = None
    ):
        self.env = _make(task, 1, play, overrides)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.env.step_dt)}
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces(self.env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        return _world(_observe(self.env, self.env.reset(seed=seed)), 0), {}

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance one control step. At the end of an episode this returns its last observation; then call reset."""
        _, rewards, terminated, truncated, extras = self.env.step(_tensor(action, self.env).unsqueeze(0))
        info = {"is_success": bool(extras["is_success"][0])} if "is_success" in extras else {}
        last = _world(_observe(self.env, extras["final_obs"]), 0)
        return last, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> np.ndarray:
        """Rewards (…,) for reaching goals (…, d) when others were asked for."""
        return _goal_reward(self.env, achieved_goal, desired_goal)

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        return None if self.render_mode is None else self.env.render(0)

    def close(self) -> None:
        self.env.close()


def _make(task: str, num_envs: int, play: bool, overrides: dict[str, Any] | None) -> ManagerBasedRlEnv:
    cfg = find(task).env_cfg(play=play)
    changes = config_overrides.apply({"env": cfg}, (overrides or {}).items())
    config_overrides.check_read({"env": cfg}, changes)
    cfg.num_envs = num_envs
    return ManagerBasedRlEnv(cfg)


def _spaces(env: ManagerBasedRlEnv) -> tuple[gymnasium.Space[Any], gymnasium.spaces.Box]:
    boxes: dict[str, gymnasium.Space[Any]] = {}
    for name, group in _groups(env).items():
        shape = env.observation_manager.groups[group].shape
        boxes[name] = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
    observations = boxes["observation"] if env.goal is None else gymnasium.spaces.Dict(boxes)
    return observations, gymnasium.spaces.Box(-1.0, 1.0, (env.num_actions,), np.float32)


def _groups(env: ManagerBasedRlEnv) -> dict[str, str]:
    """The observation groups behind gymnasium's names for the parts of a goal-conditioned observation."""
    goal = {} if env.goal is None else {"achieved_goal": env.goal.achieved, "desired_goal": env.goal.desired}
    return {"observation": GROUP, **goal}


def _observe(env: ManagerBasedRlEnv, obs: dict[str, Tensor]) -> Observation:
    if env.goal is None:
        return _numpy(obs[GROUP])
    return {name: _numpy(obs[group]) for name, group in _groups(env).items()}


def _world(obs: Observation, world: int) -> Observation:
    return {name: part[world] for name, part in obs.items()} if isinstance(obs, dict) else obs[world]


def _goal_reward(env: ManagerBasedRlEnv, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
    if env.goal is None:
        raise UserError("compute_reward needs a goal-conditioned task")
    return _numpy(env.goal.reward(_tensor(achieved, env), _tensor(desired, env)))


def _tensor(action: Any, env: ManagerBasedRlEnv) -> Tensor:
    return torch.as_tensor(np.asarray(action, dtype=np.float32), device=env.device)


def _numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy().copy()


def _rows(obs: Observation, chosen: np.ndarray) -> np.ndarray:
    """The chosen worlds' as an object array with None elsewhere: gymnasium's form for final observations."""
    rows = np.full(len(chosen), None, dtype=object)
    for i in np.flatnonzero(chosen):
        rows[i] = _world(obs, int(i))
    return rows
