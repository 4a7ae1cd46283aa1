"""PPO's losses and their gradients, written out for the networks that most tasks have.

To find derivatives torch records and repeats some three hundred small operations in a gradient step. For plain layers
behind a Gaussian whose deviation is the same in every state, the derivatives fit on a page. The losses of the policy
and of the values, which methods replace, are still torch's to differentiate: they are one number per sample. The
gradients are those of `PPO._differentiate`, up to rounding (a test compares them).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from rsl_rl.modules.distribution import GaussianDistribution
from torch import Tensor, nn

from genelab.rl.layers import Symmetric
from genelab.rl.rsl_rl.networks import MlpNetwork

_ATEN: Any = torch.ops.aten
ACTIVATIONS: dict[type[nn.Module], tuple[Callable[[Tensor], Any], Callable[[Tensor, Tensor], Any]]] = {
    nn.ELU: (nn.functional.elu_, lambda slope, out: _ATEN.elu_backward(slope, 1, 1, 1, True, out, grad_input=slope)),
    nn.ReLU: (torch.relu_, lambda slope, out: _ATEN.threshold_backward(slope, out, 0, grad_input=slope)),
    nn.Tanh: (torch.tanh_, lambda slope, out: _ATEN.tanh_backward(slope, out, grad_input=slope)),
}
"""How outputs take the place of inputs, and the slope of a loss by the inputs that of its slope by the outputs."""


class Layers:
    """Linear layers with an activation between them, and their derivatives.

    Outputs and slopes have their places in memory: new ones for each batch, which the kernel clears page by page, took
    a third of the time.
    """

    def __init__(self, mlp: nn.Sequential):
        *self._hidden, self._last = [(m.weight, m.bias) for m in mlp if isinstance(m, nn.Linear)]
        self._activate, self._slope = ACTIVATIONS[type(mlp[1])]
        self._outputs, self._slopes = [torch.empty(0)], [torch.empty(0)]
        self._symmetric = mlp if isinstance(mlp, Symmetric) else None

    def inputs(self, x: Tensor) -> Tensor:
        """What goes through the layers for inputs (B, in): in symmetric ones their images too."""
        return x if self._symmetric is None else torch.cat((x, self._symmetric.image(x)))

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (B, out) for what `inputs` returned."""
        if len(self._outputs[0]) != len(x):
            self._outputs, self._slopes = ([x.new_empty(len(x), len(b)) for _, b in self._hidden] for _ in range(2))
        self._inputs = [x, *self._outputs]
        for (weight, bias), seen, out in zip(self._hidden, self._inputs, self._outputs, strict=False):
            self._activate(torch.addmm(bias, seen, weight.t(), out=out))
        out = torch.addmm(self._last[1], self._outputs[-1], self._last[0].t())
        if self._symmetric is None:
            return out
        straight, image = out.chunk(2)
        return straight.add_(self._symmetric.outputs_image(image)).mul_(0.5)

    def backward(self, slope: Tensor) -> None:
        """Set the gradients of a loss that has this slope (B, out) by the last outputs."""
        if self._symmetric is not None:
            slope = torch.cat((slope, self._symmetric.outputs_image(slope))).mul_(0.5)
        for i, (weight, bias) in reversed(list(enumerate((*self._hidden, self._last)))):
            torch.mm(slope.t(), self._inputs[i], out=weight.grad)
            torch.sum(slope, 0, out=bias.grad)
            if i > 0:
                slope = torch.mm(slope, weight, out=self._slopes[i - 1])
                self._slope(slope, self._inputs[i])


class WrittenOut:
    """The losses of a mini-batch, and the gradients that `method` would have from them."""

    @staticmethod
    def fits(method: Any) -> bool:
        """Whether a method has such networks, on a CPU, where small operations cost most."""
        networks, symmetry = (method.actor, method.critic), method.symmetry
        plain = all(type(n) is MlpNetwork and len(n.mlp) > 1 and type(n.mlp[1]) in ACTIVATIONS for n in networks)
        gaussian = type(method.actor.distribution) is GaussianDistribution
        return plain and gaussian and str(method.device) == "cpu" and (symmetry is None or symmetry.cfg.augment)

    def __init__(self, method: Any):
        self.method = method
        self._actor, self._critic = Layers(method.actor.mlp), Layers(method.critic.mlp)
        self._gaussian: GaussianDistribution = method.actor.distribution
        (self._std_parameter,) = self._gaussian.parameters()
        self.gradients = [_in_one_piece(network) for network in (method.actor, method.critic)]
        """Of all weights of the actor, and of the critic."""

    def prepare(self, batch: Any) -> None:
        """Normalise what the networks see: it is the same in all epochs."""
        both = ((self._actor, self.method.actor), (self._critic, self.method.critic))
        batch.seen = tuple(layers.inputs(network.get_latent(batch.observations)) for layers, network in both)

    @torch.no_grad()
    def differentiate(self, batch: Any, share: float) -> tuple[dict[str, Tensor], Tensor]:
        """As `PPO._differentiate`."""
        method, (seen, judged) = self.method, batch.seen
        values = self._critic(judged)
        value_loss, slope = _differentiated(lambda values: method.value_loss(values, batch), values)
        self._critic.backward(slope.mul_(method.value_loss_coef * share))
        std, means = self._std(), self._actor(seen)
        # The logarithm of the probability is -1/2 of the sum of squares, less the logarithms of std and a constant.
        off = (batch.actions - means).div_(std)
        squares = off.square()
        logs, size = std.log().sum(), len(batch.old_distribution_params[0])
        normal = 0.5 * math.log(2.0 * math.pi) * len(std)
        log_prob = squares.sum(dim=1).mul_(-0.5).sub_(logs + normal)
        ratio = log_prob.sub_(batch.old_actions_log_prob.squeeze()).exp_()
        surrogate, slope = _differentiated(lambda r: method.surrogate(r, batch.advantages.squeeze()), ratio.clone())
        slope = slope.mul_(ratio).mul_(share)  # by the logarithm of the probability
        losses = {"value": value_loss, "surrogate": surrogate, "entropy": logs + normal + 0.5 * len(std)}
        by_std = (slope @ squares - slope.sum() - method.entropy_coef * share) / std
        by_means = off.mul_(slope.unsqueeze(1)).div_(std)
        if method.symmetry is not None:
            apart = (means[size:] - method.symmetry.mirrored(means[:size])).div_(std)
            losses["symmetry"] = apart.square().mean()
            weight = 2.0 * method.symmetry.cfg.mirror_loss * share / apart.numel()
            by_means[size:].add_(apart.div_(std), alpha=weight)
        self._actor.backward(by_means)
        self._set_std_gradient(by_std, std)
        return losses, method.divergence(batch, (means[:size], std.expand(size, -1)))

    def clip(self, norm: float) -> None:
        """Make the gradients of each network as short as `norm`, if they are longer."""
        for gradient in self.gradients:
            gradient.mul_((norm / (gradient.norm() + 1e-6)).clamp_(max=1.0))

    def _std(self) -> Tensor:
        """The deviation of each action, (A,)."""
        if self._gaussian.std_type == "scalar":
            return self._std_parameter.clamp(*self._gaussian.std_range)
        return self._std_parameter.clamp(*self._gaussian.log_std_range).exp()

    def _set_std_gradient(self, slope: Tensor, std: Tensor) -> None:
        """From the slope by the deviation, which has no gradient beyond its bounds."""
        scalar, parameter = self._gaussian.std_type == "scalar", self._std_parameter
        low, high = self._gaussian.std_range if scalar else self._gaussian.log_std_range
        slope = slope if scalar else slope * std
        torch.mul(slope, (parameter >= low) & (parameter <= high), out=parameter.grad)


def _in_one_piece(network: nn.Module) -> Tensor:
    """The gradients of all weights, one after the other in memory."""
    weights = list(network.parameters())
    gradient = torch.zeros(sum(weight.numel() for weight in weights))
    for weight, part in zip(weights, gradient.split([weight.numel() for weight in weights]), strict=True):
        weight.grad = part.view_as(weight)
    return gradient


def _differentiated(loss: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of a loss of each sample, and its slope by `x`."""
    with torch.enable_grad():
        mean = loss(x.requires_grad_()).mean()
        (slope,) = torch.autograd.grad(mean, x)
    return mean.detach(), slope
