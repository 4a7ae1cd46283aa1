"""Several control steps with the same actions, as one step of a learner."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Step = tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]
"""What an environment returns: observations, rewards, terminated, truncated, extras."""


def hold(step: Callable[[Tensor], Step], actions: Tensor, repeat: int, choose: Callable[..., Tensor]) -> Step:
    """Hold `actions` for `repeat` control steps.

    A world's rewards are summed until its episode ends, and ``final_obs`` is what that episode ended with. If that is
    before the last control step, the world begins its next episode at once, with an action of its own: those of
    `choose` (observations to actions), until all worlds act again. What that action earns is nobody's reward.
    """
    obs, rewards, terminated, truncated, extras = step(actions)
    over = terminated | truncated
    ended, final_obs = over, dict(extras["final_obs"])
    for _ in range(repeat - 1):
        if bool(over.any()):
            actions = torch.where(over.unsqueeze(1), choose(obs), actions)
        obs, more, terminates, truncates, extras = step(actions)
        over = terminates | truncates
        rewards = rewards + more.masked_fill(ended, 0.0)
        terminated, truncated = terminated | (terminates & ~ended), truncated | (truncates & ~ended)
        for name, value in extras["final_obs"].items():
            final_obs[name] = torch.where(ended.view(-1, *[1] * (value.dim() - 1)), final_obs[name], value)
        ended = ended | over
    return obs, rewards, terminated, truncated, {**extras, "final_obs": final_obs}
