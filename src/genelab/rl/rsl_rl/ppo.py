"""rsl_rl's PPO with the value of a cut-off episode taken where it was cut off, and a bound on the learning rate."""

from typing import Any

import torch
from rsl_rl.algorithms import PPO as RslRlPPO  # noqa: N811
from tensordict import TensorDict
from torch import Tensor


class PPO(RslRlPPO):
    """PPO that bootstraps time-outs from the final observation.

    rsl_rl adds gamma * V(s_t) to the reward of a truncated step; right is gamma * V(s_{t+1}), where s_{t+1} is the
    state the episode was cut off in. It is no longer in the observations (they already belong to the next episode),
    so it comes from ``extras["final_obs"]``.

    The adaptive learning rate stays at or below `max_learning_rate`. rsl_rl lets it rise to 1e-2, where the value
    function of a small network comes apart: while the policy's noise is large, no step is large for its KL divergence.
    """

    def __init__(self, *args: Any, max_learning_rate: float = 1e-2, **kwargs: Any):
        self._max_learning_rate = max_learning_rate
        super().__init__(*args, **kwargs)

    def bound_learning_rate(self, bound: float) -> None:
        """Keep the learning rate at or below `bound` from now on."""
        self._max_learning_rate = bound
        self.learning_rate = self._learning_rate

    @property
    def learning_rate(self) -> float:
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._learning_rate = min(value, self._max_learning_rate)

    def process_env_step(self, obs: TensorDict, rewards: Tensor, dones: Tensor, extras: dict[str, Any]) -> None:
        """Record one environment step."""
        time_outs = extras["time_outs"]
        if bool(time_outs.any()):
            ids = time_outs.nonzero().flatten()
            rewards = rewards.clone()
            rewards[ids] += self.gamma * self._final_values(extras["final_obs"], ids)
        super().process_env_step(obs, rewards, dones, {})

    def _final_values(self, final_obs: dict[str, Tensor], ids: Tensor) -> Tensor:
        """Value of the last observation in the worlds `ids`, (len(ids),)."""
        rows = {group: value[ids].to(self.device) for group, value in final_obs.items()}
        obs = TensorDict(rows, batch_size=[len(ids)])  # type: ignore[arg-type]
        hidden = self.critic.get_hidden_state()
        if hidden is None:
            return self.critic(obs).detach().squeeze(-1)
        # A recurrent critic has seen everything up to s_t: let it see one observation more, then take that back.
        self.critic.reset(hidden_state=_rows(hidden, ids))
        values = self.critic(obs).detach().squeeze(-1)
        self.critic.reset(hidden_state=hidden)
        return values


def _rows(hidden: Any, ids: Tensor) -> Any:
    """The hidden state of some worlds: (layers, N, dim), or a pair of these."""
    if isinstance(hidden, tuple):
        return tuple(_rows(part, ids) for part in hidden)
    return torch.index_select(hidden, 1, ids)
