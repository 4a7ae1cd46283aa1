"""Networks for skrl's agents. Actors read ``observations``, critics ``states``: the critic may know more."""

import math
from typing import Any

import gymnasium
import torch
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from torch import Tensor, nn
from torch.distributions import Normal

from genelab.rl.cfg import SkrlAgentCfg
from genelab.rl.layers import log_tanh_slope, mlp, squashed

Output = tuple[Tensor, dict[str, Any]]


class _Network(Model):
    """Hidden layers and a linear output on top."""

    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str, inputs: int, outputs: int):
        Model.__init__(self, **spaces, device=device)
        self.trunk = mlp(inputs, cfg.hidden_dims, cfg.activation)
        self.out = nn.Linear(cfg.hidden_dims[-1] if cfg.hidden_dims else inputs, outputs)
        self.range = cfg.off_policy.action_range

    def random_act(self, inputs: dict[str, Any], *, role: str = "") -> Output:
        """Uniform actions from torch's generator (skrl's own come from a generator that is never saved)."""
        shape = (len(inputs["observations"]), self.num_actions)
        return torch.empty(shape, device=self.device).uniform_(-self.range, self.range), {}


class _Actor(_Network):
    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str):
        shapes = [math.prod(spaces[name].shape or ()) for name in ("observation_space", "action_space")]
        super().__init__(spaces, cfg, device, *shapes)

    def head(self) -> nn.Sequential:
        """From normalised observations to deterministic actions."""
        return squashed(self.trunk, self.out, scale=self.range)


class GaussianActor(GaussianMixin, _Actor):
    """A Gaussian with a standard deviation that does not depend on the observations: PPO and A2C."""

    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str):
        _Actor.__init__(self, spaces, cfg, device)
        GaussianMixin.__init__(self)
        self.log_std = nn.Parameter(torch.full((self.num_actions,), math.log(cfg.on_policy.init_std)))
        nn.init.orthogonal_(self.out.weight, 0.01)

    def compute(self, inputs: dict[str, Any], role: str = "") -> Output:
        mean = self.out(self.trunk(inputs["observations"]))
        return mean, {"log_std": self.log_std.expand_as(mean)}

    def head(self) -> nn.Sequential:
        return nn.Sequential(self.trunk, self.out)


class SquashedActor(_Actor):
    """A Gaussian bounded by tanh: SAC. Densities are those of actions in units of the range."""

    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str):
        super().__init__(spaces, cfg, device)
        self.log_std = nn.Linear(self.out.in_features, self.num_actions)

    def compute(self, inputs: dict[str, Any], role: str = "") -> Output:
        features = self.trunk(inputs["observations"])
        return self.out(features), {"log_std": self.log_std(features).clamp(-20.0, 2.0)}

    def act(self, inputs: dict[str, Any], *, role: str = "") -> Output:
        mean, outputs = self.compute(inputs, role)
        gaussian = Normal(mean, outputs["log_std"].exp())
        raw = gaussian.rsample()
        log_prob = gaussian.log_prob(raw) - log_tanh_slope(raw)
        return self.range * raw.tanh(), {**outputs, "log_prob": log_prob.sum(dim=-1, keepdim=True)}


class DeterministicActor(DeterministicMixin, _Actor):
    """One bounded action: TD3 and DDPG."""

    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str):
        _Actor.__init__(self, spaces, cfg, device)
        DeterministicMixin.__init__(self)

    def compute(self, inputs: dict[str, Any], role: str = "") -> Output:
        return self.range * self.out(self.trunk(inputs["observations"])).tanh(), {}


class Value(DeterministicMixin, _Network):
    """The value of a state."""

    sees = {"state_space": "states"}  # noqa: RUF012
    """Spaces of what it reads, and what skrl calls the inputs."""

    def __init__(self, spaces: dict[str, gymnasium.Space], cfg: SkrlAgentCfg, device: str):
        _Network.__init__(self, spaces, cfg, device, sum(math.prod(spaces[name].shape or ()) for name in self.sees), 1)
        DeterministicMixin.__init__(self)

    def compute(self, inputs: dict[str, Any], role: str = "") -> Output:
        return self.out(self.trunk(torch.cat([inputs[name] for name in self.sees.values()], dim=-1))), {}


class QValue(Value):
    """The value of an action in a state."""

    sees = {"state_space": "states", "action_space": "taken_actions"}  # noqa: RUF012


_TWINS = dict.fromkeys(("critic_1", "critic_2", "target_critic_1", "target_critic_2"), QValue)
_ACTORS = dict.fromkeys(("policy", "target_policy"), DeterministicActor)
MODELS: dict[str, dict[str, Any]] = {
    "PPO": {"policy": GaussianActor, "value": Value},
    "A2C": {"policy": GaussianActor, "value": Value},
    "SAC": {"policy": SquashedActor, **_TWINS},
    "TD3": {**_ACTORS, **_TWINS},
    "DDPG": {**_ACTORS, "critic": QValue, "target_critic": QValue},
}
"""The networks of each algorithm, by the names skrl knows them by."""
