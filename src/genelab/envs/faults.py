"""Observations and rewards that are not finite, and the terms they come from."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from genelab.envs.env import ManagerBasedRlEnv


def all_finite(parts: Iterable[Tensor]) -> bool:
    """Whether the sum of all values is finite. It is cheap to ask in every step, and can be wrong in one way only.

    Large values may overflow in the sum although each is finite.
    """
    return math.isfinite(float(sum(part.sum() for part in parts)))


def find_fault(env: "ManagerBasedRlEnv", rewards: bool) -> str | None:
    """What is NaN or infinite, in words: the actions, else a reward term, if `rewards`, else an observation term."""
    if not bool(env.action_manager.action.isfinite().all()):
        return "the policy's actions"
    if rewards and (name := env.reward_manager.not_finite()) is not None:
        return f"reward term '{name}'"
    for group in env.observation_manager.groups.values():
        bad = (~env.obs[group.name].isfinite()).flatten(1).any(dim=0).nonzero()
        if len(bad):
            return f"observation term '{group.name}.{group.term_at(int(bad[0]))}'"
    return None
