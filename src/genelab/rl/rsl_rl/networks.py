"""rsl_rl's networks, each able to say what of it runs on a robot. The type of a model config selects one."""

from typing import Any, cast

import torch
from rsl_rl.models import CNNModel, MLPModel, RNNModel
from tensordict import TensorDict
from torch import nn

from genelab.core.errors import UserError, unknown
from genelab.core.registry import load
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg
from genelab.rl.deployed import Convolutional, Deployed, FeedForward, Recurrent
from genelab.rl.layers import Symmetric


class MlpNetwork(MLPModel):
    """Layers on flat observation groups."""

    def update_normalization(self, obs: TensorDict) -> None:
        """Symmetric layers see images as often as observations: the normaliser too."""
        if self.obs_normalization:
            seen = torch.cat([obs[group] for group in self.obs_groups], dim=-1)
            images = [self.mlp.image(seen)] if isinstance(self.mlp, Symmetric) else []
            self.obs_normalizer.update(torch.cat([seen, *images]))  # type: ignore[operator]

    def deployed(self) -> Deployed:
        """The deterministic network; it shares the weights."""
        return FeedForward(tuple(self.obs_groups), self.obs_dim, _head(self), _normalizer(self))


class RnnNetwork(RNNModel):
    """Layers behind an LSTM or a GRU."""

    def deployed(self) -> Deployed:
        """The deterministic network; it shares the weights."""
        rnn = cast(nn.LSTM | nn.GRU, self.rnn.rnn)
        return Recurrent(tuple(self.obs_groups), self.obs_dim, _head(self), rnn, _normalizer(self))


class CnnNetwork(CNNModel):
    """Layers behind convolutions of the observation groups that are images."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if not self.obs_groups:
            raise ValueError("a network of images needs a flat observation group too")

    def deployed(self) -> Deployed:
        """The deterministic network; it shares the weights."""
        sizes = zip(self.obs_channels_2d, self.obs_dims_2d, strict=True)
        images = {name: (c, *hw) for name, (c, hw) in zip(self.obs_groups_2d, sizes, strict=True)}
        encoders = [self.cnns[name] for name in images]
        return Convolutional(tuple(self.obs_groups), self.obs_dim, _head(self), images, encoders, _normalizer(self))


def make_network(cfg: RslRlOnPolicyRunnerCfg, name: str, obs: TensorDict, outputs: int) -> Any:
    """The network called `name` in an agent config, for the observation groups that the config gives it."""
    model: RslRlModelCfg = getattr(cfg, name)
    if name not in cfg.obs_groups:
        raise UserError(f"agent.obs_groups does not say what '{name}' sees (it has {', '.join(cfg.obs_groups)})")
    groups = list(cfg.obs_groups[name])
    if not groups:
        raise UserError(f"agent.obs_groups.{name} is empty")
    for group in groups:
        if group not in obs:
            raise unknown(f"observation group in agent.obs_groups.{name}", group, map(str, obs.keys()))
    try:
        network = load(model.network)(obs, {name: groups}, name, outputs, **model.arguments())
    except ValueError as error:
        raise UserError(f"agent.{name}: {error}") from error
    if model.obs_normalization:
        network.obs_normalizer.until = model.normalization_until
    return network.to(obs.device)


def _head(network: MLPModel) -> nn.Sequential:
    distribution = network.distribution
    mean = nn.Identity() if distribution is None else distribution.as_deterministic_output_module()
    return nn.Sequential(network.mlp, mean)


def _normalizer(network: MLPModel) -> nn.Module | None:
    return network.obs_normalizer if network.obs_normalization else None
