"""A task as the ``VecEnv`` that stable-baselines3's own algorithms train in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from genelab.clients.gym import GymVectorEnv, Observation, make_vector


class Sb3VecEnv(VecEnv):
    """All worlds of a task; observations, actions and keyword arguments are those of ``gymnasium.make_vec``.

    Worlds reset in the step in which their episodes end; ``infos[i]["terminal_observation"]`` is the true last
    observation, and ``infos[i]["TimeLimit.truncated"]`` says whether the episode was cut off.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 64,
        play: bool = False,
        preset: str = "reference",
        overrides: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ):
        self.gym: GymVectorEnv = make_vector(task, num_envs, play, preset, overrides, render_mode=render_mode)
        self.gym.env.require_auto_reset("stable-baselines3")
        self.render_mode = render_mode
        self._actions = np.zeros(0, dtype=np.float32)
        super().__init__(num_envs, self.gym.single_observation_space, self.gym.single_action_space)

    def reset(self) -> Observation:
        obs, infos = self.gym.reset(seed=self._seeds[0])
        self.reset_infos = [{"seed": int(seed)} for seed in infos["seed"]]
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Observation, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        obs, rewards, terminated, truncated, extras = self.gym.step(self._actions)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones):
            infos[i]["terminal_observation"] = extras["final_obs"][i]
            infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
            if "is_success" in extras:
                infos[i]["is_success"] = bool(extras["is_success"][i])
        return obs, rewards, dones, infos

    def close(self) -> None:
        self.gym.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return self.gym.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.gym, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"'{attr_name}' cannot be set per world: change the task by overrides")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the environment once; every world that was asked gets its result."""
        result = getattr(self.gym, method_name)(*args, **kwargs)
        return [result] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))
