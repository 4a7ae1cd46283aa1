"""A task as the environment that skrl's own agents and trainers take."""

from collections.abc import Mapping
from typing import Any

import gymnasium
from skrl.envs.wrappers.torch import Wrapper
from torch import Tensor

from genelab.clients.gym import GROUP, GymVectorEnv, make_vector
from genelab.core.errors import UserError


class SkrlEnv(Wrapper):
    """All worlds of a task, as torch tensors; worlds reset in the step in which their episodes end.

    Keyword arguments are those of ``gymnasium.make_vec``, and a seed. Observations are the ``policy`` group.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 64,
        play: bool = False,
        preset: str = "reference",
        overrides: Mapping[str, Any] | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
    ):
        self.gym: GymVectorEnv = make_vector(task, num_envs, play, preset, overrides, render_mode=render_mode)
        self.gym.env.require_auto_reset("skrl")
        if self.gym.env.goal is not None:
            raise UserError(f"task '{task}' is goal-conditioned: skrl's own agents know no goals")
        self._first_seed = seed
        super().__init__(self.gym.env)

    @property
    def observation_space(self) -> gymnasium.Space:
        return self.gym.single_observation_space

    @property
    def action_space(self) -> gymnasium.Space:
        return self.gym.single_action_space

    def reset(self) -> tuple[Tensor, Any]:
        _, infos = self.gym.reset(seed=self._first_seed)
        self._first_seed = None  # later resets go on with new samples
        return self.gym.env.obs[GROUP], infos

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Any]:
        obs, rewards, terminated, truncated, extras = self.gym.env.step(actions.to(self.gym.env.device))
        rewards, terminated, truncated = (values.unsqueeze(-1) for values in (rewards, terminated, truncated))
        return obs[GROUP], rewards, terminated, truncated, {"final_obs": extras["final_obs"][GROUP]}

    def state(self) -> Tensor | None:
        return None

    def render(self, *args: Any, **kwargs: Any) -> Any:
        """A frame of the first world, or nothing without `render_mode`: skrl's trainers ask after every step."""
        return None if self.gym.render_mode is None else self.gym.env.render(0)

    def close(self) -> None:
        self.gym.close()
