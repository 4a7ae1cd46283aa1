"""Goal-conditioned tasks: what was reached, what was to be reached, and a reward that follows from these two alone.

The reward a step is paid and the reward a learner computes later for another goal come from one function of the same
two observation groups, so they agree by construction (a world whose physics broke down, which is paid nothing, apart).
"""

from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError, lookup
from genelab.envs.cfg import GoalCfg
from genelab.envs.terms import Env


def goal_reward(env: Any) -> Tensor:
    """Reward for the goal reached in this step, of the function that the task's `GoalCfg` names.  (N,)"""
    if env.goal is None:
        raise UserError("goal_reward needs a goal-conditioned task: the environment config has no goal")
    return env.goal.unscaled_reward(*(env.observation_manager.peek(name) for name in env.goal.groups))


class Goal:
    """The goal of a running environment (``env.goal``)."""

    def __init__(self, cfg: GoalCfg, env: Env):
        self.cfg = cfg
        self.groups = self.achieved, self.desired = cfg.achieved, cfg.desired
        """Names of the observation groups with the achieved and the desired goal."""
        self._env = env
        terms = env.cfg.rewards
        if [term.func for term in terms.values()] != [goal_reward]:
            names = ", ".join(terms) or "none"
            raise UserError(f"a goal-conditioned task has mdp.goal_reward as its only reward term, not: {names}")
        [self._term] = terms.values()
        observed = env.observation_manager
        for name in self.groups:
            group = lookup("observation group of the goal", name, observed.groups).cfg
            if group.noise and any(term.noise > 0.0 for term in group.terms.values()):
                raise UserError(f"goal: observation group '{name}' must be without noise")
            if group.history != 1:
                raise UserError(f"goal: observation group '{name}' must have a history of 1, not {group.history}")
            if observed.remembers(name):
                raise UserError(f"goal: observation group '{name}' must not have terms with a state")
        observed.require_vectors(self.groups, "goals are vectors")
        sizes = [observed.groups[name].dim for name in self.groups]
        if sizes[0] != sizes[1]:
            raise UserError(f"goal: '{self.achieved}' has {sizes[0]} values, '{self.desired}' has {sizes[1]}")
        self.dim = sizes[0]
        paid = self.unscaled_reward(*(torch.zeros(2, env.num_envs, self.dim, device=env.device) for _ in range(2)))
        if not isinstance(paid, Tensor) or paid.shape != (2, env.num_envs):
            found = tuple(paid.shape) if isinstance(paid, Tensor) else type(paid).__name__
            raise UserError(f"goal: {cfg.reward.__qualname__} of goals (…, d) must return (…,), not {found}")

    @torch.no_grad()
    def reward(self, achieved: Tensor, desired: Tensor) -> Tensor:
        """What the environment pays for a step that reached `achieved` (…, d) when `desired` (…, d) was asked.  (…,)

        The weight of the reward term and the control time step are in it. Goals are values of the observation groups:
        for `achieved`, of the observation after the step.
        """
        scale = self._env.step_dt if self._env.cfg.scale_rewards_by_dt else 1.0
        return self.unscaled_reward(achieved, desired) * (self._term.weight * scale)

    def unscaled_reward(self, achieved: Tensor, desired: Tensor) -> Tensor:
        """The task's function of both goals, before weight and time step.  (…,)"""
        return self.cfg.reward(achieved, desired, **self.cfg.params)
