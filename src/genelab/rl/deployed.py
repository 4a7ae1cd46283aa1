"""What of a trained policy runs on a robot: one module with explicit state, and the policy that runs it in all worlds.

Everything after training (play, eval, export, sim2sim) knows a policy by this form only. A learning method may deploy
any module of this kind: an actor alone, or an encoder and an actor.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from genelab.core.errors import RunStopped
from genelab.core.tensors import is_finite, require_finite_weights
from genelab.rl.backends.base import Policy
from genelab.rl.layers import Symmetric


class Deployed(nn.Module):
    """Observations and state in, actions and the next state out.

    ``forward(obs, images, state)`` takes the flat observation groups side by side (N, obs_dim), a list of image groups
    (N, C, H, W), and a list of states (layers, N, hidden), all zero at the start of an episode. It returns the actions
    (N, A) and the list of next states. Subclasses implement it so that TorchScript can compile it.
    """

    def __init__(self, obs_groups: tuple[str, ...], obs_dim: int, normalizes: bool = False):
        super().__init__()
        self.obs_groups, self.obs_dim = obs_groups, obs_dim
        """Flat observation groups, in the order in which they stand side by side, and how wide they are together."""
        self.image_groups: tuple[str, ...] = ()
        """Observation groups that are images, in the order of the list."""
        self.image_shapes: tuple[tuple[int, ...], ...] = ()
        """(C, H, W) of each."""
        self.state_shapes: dict[str, tuple[int, int]] = {}
        """Name of each state to its layers and size, in the order of the list."""
        self._normalizes = normalizes

    def describe(self) -> dict[str, Any]:
        """What a reader of the exported file should know about the network beyond its inputs."""
        return {"normalization_baked": self._normalizes}


class FeedForward(Deployed):
    """Layers one after the other: from the observation to the action."""

    def __init__(self, obs_groups: tuple[str, ...], obs_dim: int, head: nn.Module, normalizer: nn.Module | None = None):
        super().__init__(obs_groups, obs_dim, normalizer is not None)
        self.layers = nn.Sequential(*([] if normalizer is None else [normalizer]), *_leaves(head))

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        return self.layers(obs), state


class Recurrent(Deployed):
    """A normaliser, an LSTM or a GRU, and a head."""

    def __init__(
        self,
        obs_groups: tuple[str, ...],
        obs_dim: int,
        head: nn.Module,
        rnn: nn.LSTM | nn.GRU,
        normalizer: nn.Module | None = None,
    ):
        super().__init__(obs_groups, obs_dim, normalizer is not None)
        self.normalizer, self.rnn, self.head = normalizer or nn.Identity(), rnn, head
        self.is_lstm = isinstance(rnn, nn.LSTM)
        names = ("h", "c") if self.is_lstm else ("h",)
        self.state_shapes = dict.fromkeys(names, (rnn.num_layers, rnn.hidden_size))

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        x = self.normalizer(obs).unsqueeze(0)
        if self.is_lstm:
            x, (h, c) = self.rnn(x, (state[0], state[1]))
            return self.head(x.squeeze(0)), [h, c]
        else:  # TorchScript compiles one branch, and only sees that it does with an else
            x, h = self.rnn(x, state[0])
            return self.head(x.squeeze(0)), [h]

    __constants__ = ("is_lstm",)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "rnn_type": "lstm" if self.is_lstm else "gru"}


class Convolutional(Deployed):
    """Convolutions for each image beside the normalised flat observation, and a head."""

    def __init__(
        self,
        obs_groups: tuple[str, ...],
        obs_dim: int,
        head: nn.Module,
        images: dict[str, tuple[int, ...]],
        encoders: list[nn.Module],
        normalizer: nn.Module | None = None,
    ):
        super().__init__(obs_groups, obs_dim, normalizer is not None)
        self.normalizer, self.head = normalizer or nn.Identity(), head
        self.encoders = nn.ModuleList(encoders)
        self.image_groups, self.image_shapes = tuple(images), tuple(images.values())

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        parts = [self.normalizer(obs)]
        for i, encoder in enumerate(self.encoders):
            parts.append(encoder(images[i]))
        return self.head(torch.cat(parts, dim=-1)), state


class Held(Deployed):
    """Acts with a stateless module every `repeat` control steps. The state is the action held since, and how long."""

    def __init__(self, module: Deployed, actions: int, repeat: int):
        super().__init__(module.obs_groups, module.obs_dim)
        self.module, self.repeat = module, repeat
        self.image_groups, self.image_shapes = module.image_groups, module.image_shapes
        self.state_shapes = {"held": (1, actions + 1)}

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        return self.hold(self.module(obs, images, state)[0], state)

    def hold(self, fresh: Tensor, state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Take over fresh actions where it is time to act."""
        held, age = state[0][0, :, :-1], state[0][0, :, -1:]
        actions = torch.where(age == 0, fresh, held)
        age = torch.where(age + 1 < self.repeat, age + 1, torch.zeros_like(age))
        return actions, [torch.cat((actions, age), dim=-1).unsqueeze(0)]

    def describe(self) -> dict[str, Any]:
        return {**self.module.describe(), "action_repeat": self.repeat}


class DeployedPolicy(Policy):
    """Runs a deployed module in `num_envs` worlds.

    `sample` draws random actions for observation groups. Where sampling remembers anything, `forget` is told which
    worlds begin anew: a mask (N,), or None for all.
    """

    def __init__(
        self,
        module: Deployed,
        num_envs: int,
        device: str = "cpu",
        sample: Callable[[dict[str, Tensor]], Tensor] | None = None,
        forget: Callable[[Tensor | None], None] | None = None,
    ):
        self._module, self._sample, self._forget = module, sample, forget
        self._num_envs, self._device = num_envs, device
        self._shapes = [(layers, num_envs, size) for layers, size in module.state_shapes.values()]
        self.state: list[Tensor] = []
        """What a recurrent policy remembers of each world: (layers, N, hidden) for each of the module's states."""
        # Without the containers around the layers, which cost as much as a small network itself.
        self._layers = [layer.forward for layer in module.layers] if isinstance(module, FeedForward) else None
        self.reset()

    def copy(self, num_envs: int) -> "DeployedPolicy":
        """The same deterministic policy for other worlds, with weights of its own."""
        return DeployedPolicy(copy.deepcopy(self._module), num_envs, self._device)

    @torch.no_grad()
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        """Actions (N, A). Raises a `RunStopped` if they are not finite: to go on would look like a result."""
        if deterministic or self._sample is None:
            actions = self._mean(obs)
        else:
            self._require_finite(obs)  # libraries refuse to draw from what is not
            actions = self._sample(obs)
            if isinstance(self._module, Held):
                actions, self.state = self._module.hold(actions, self.state)
        if not is_finite(actions):
            self._require_finite(obs)
            raise RunStopped("the policy's actions are not finite: its numbers overflow")
        return actions

    def _mean(self, obs: dict[str, Tensor]) -> Tensor:
        value = flat(obs, self._module.obs_groups)
        if self._layers is not None:
            for layer in self._layers:
                value = layer(value)
            return value
        actions, self.state = self._module(value, [obs[name] for name in self._module.image_groups], self.state)
        return actions

    def reset(self, env_ids: Tensor | None = None) -> None:
        if env_ids is None:
            self.state = [torch.zeros(shape, device=self._device) for shape in self._shapes]
        else:
            for part in self.state:
                part[:, env_ids] = 0.0
        if self._forget is not None:
            everyone = torch.arange(self._num_envs, device=self._device)
            self._forget(None if env_ids is None else torch.isin(everyone, env_ids))

    def _require_finite(self, obs: dict[str, Tensor]) -> None:
        """Raise for the first observation or weight that is not finite."""
        for name in (*self._module.obs_groups, *self._module.image_groups):
            if not is_finite(obs[name]):
                raise RunStopped(f"the policy cannot act: observation group '{name}' is not finite")
        require_finite_weights(self._module)

    @property
    def deployed(self) -> Deployed:
        return self._module


def flat(obs: dict[str, Tensor], groups: tuple[str, ...]) -> Tensor:
    """Observation groups side by side, (N, d)."""
    return obs[groups[0]] if len(groups) == 1 else torch.cat([obs[name] for name in groups], dim=-1)


def _leaves(module: nn.Module) -> list[nn.Module]:
    """The layers of nested sequences, in order."""
    if not isinstance(module, nn.Sequential) or isinstance(module, Symmetric):
        return [module]
    return [leaf for part in module for leaf in _leaves(part)]
