"""A Gaussian squashed by tanh, for rsl_rl's networks.

What is drawn and stored is the raw action u, before tanh, which cannot be undone where it saturates. The action that is
carried out is tanh(u). Densities are those of the action:

- log-probability: that of u under the Gaussian, minus log(1 - tanh(u)²);
- KL divergence: that of the two Gaussians. tanh is invertible and the same in both, so it is the divergence of the
  actions too;
- entropy: that of the Gaussian plus the mean of log(1 - tanh(u)²), which has no closed form. The mean is estimated from
  the one sample that was drawn last, without bias and differentiably.
"""

import math
from typing import Any

import torch
from rsl_rl.modules.distribution import Distribution, HeteroscedasticGaussianDistribution
from torch import Tensor, nn
from torch.distributions import Normal
from torch.nn.functional import softplus

from genelab.rl.layers import log_tanh_slope


class TanhNormal(HeteroscedasticGaussianDistribution):
    """The network outputs means and s, (…, 2, A); the Gaussian's standard deviation is softplus(s) + min_std."""

    _gaussian: Normal
    _raw: Tensor

    def __init__(self, output_dim: int, init_std: float, min_std: float):
        Distribution.__init__(self, output_dim)
        self.min_std, above = min_std, init_std - min_std
        self.std_type, self.init_std = "scalar", above + math.log(-math.expm1(-above))  # a bias: softplus backwards
        self.register_buffer("squashed", torch.ones(()))  # so that the weights of a Gaussian do not fit

    def update(self, mlp_output: Tensor) -> None:
        mean, spread = torch.unbind(mlp_output, dim=-2)
        self._distribution = self._gaussian = Normal(mean, softplus(spread) + self.min_std, validate_args=False)

    def sample(self) -> Tensor:
        """A raw action."""
        self._raw = self._gaussian.rsample()
        return self._raw.detach()

    def log_prob(self, outputs: Tensor) -> Tensor:
        """Log-density of the actions that these raw actions stand for, summed over the last dimension."""
        return (self._gaussian.log_prob(outputs) - log_tanh_slope(outputs)).sum(dim=-1)

    @property
    def entropy(self) -> Tensor:
        return (self._gaussian.entropy() + log_tanh_slope(self._raw)).sum(dim=-1)

    @property
    def mean(self) -> Tensor:
        """The deterministic action, tanh of the Gaussian's mean."""
        return self._gaussian.mean.tanh()

    @property
    def params(self) -> tuple[Tensor, ...]:
        """Mean and standard deviation of the Gaussian."""
        return self._gaussian.mean, self._gaussian.stddev

    def deterministic_output(self, mlp_output: Tensor) -> Tensor:
        return super().deterministic_output(mlp_output).tanh()

    def as_deterministic_output_module(self) -> nn.Module:
        return nn.Sequential(super().as_deterministic_output_module(), nn.Tanh())


def carried_out(actor: Any, sampled: Tensor) -> Tensor:
    """The actions that samples of an actor stand for."""
    return sampled.tanh() if isinstance(actor.distribution, TanhNormal) else sampled
