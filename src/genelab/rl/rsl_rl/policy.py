"""An rsl_rl actor as a policy."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from genelab.rl.backends.base import Actor, Policy


class RslRlPolicy(Policy):
    """Runs an actor in `num_envs` worlds. The actor is the caller's: copy one that is being trained."""

    def __init__(self, actor: Any, num_envs: int, device: str):
        self._actor = actor
        self._num_envs = num_envs
        self._device = device
        self._actor.eval()
        actor = self.actor
        layers = [actor.normalizer or nn.Identity(), *(part for block in actor.head for part in _parts(block))]
        self._layers = None if actor.rnn is not None else [layer.forward for layer in layers]

    @torch.no_grad()
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        if deterministic and self._layers is not None:
            # The same layers without containers and hooks around them, which cost as much as a small network itself.
            groups = [obs[group] for group in self._actor.obs_groups]
            value = groups[0] if len(groups) == 1 else torch.cat(groups, dim=-1)
            for layer in self._layers:
                value = layer(value)
            return value
        batch = TensorDict(obs, batch_size=[self._num_envs], device=self._device)  # type: ignore[arg-type]
        return self._actor(batch, stochastic_output=not deterministic)

    def reset(self, env_ids: Tensor | None = None) -> None:
        if not self._actor.is_recurrent:
            return
        if env_ids is None:
            self._actor.reset()
            return
        dones = torch.zeros(self._num_envs, dtype=torch.bool, device=self._device)
        dones[env_ids] = True
        self._actor.reset(dones)

    @property
    def module(self) -> nn.Module:
        return self._actor

    @property
    def actor(self) -> Actor:
        model = self._actor
        mean = nn.Identity() if model.distribution is None else model.distribution.as_deterministic_output_module()
        return Actor(
            obs_groups=tuple(model.obs_groups),
            obs_dim=model.obs_dim,
            head=nn.Sequential(model.mlp, mean),
            normalizer=model.obs_normalizer if model.obs_normalization else None,
            rnn=model.rnn.rnn if model.is_recurrent else None,
        )


def _parts(block: nn.Module) -> list[nn.Module]:
    """The layers of an rsl_rl MLP, which is a sequence, or the block itself."""
    return list(block) if isinstance(block, nn.Sequential) else [block]
