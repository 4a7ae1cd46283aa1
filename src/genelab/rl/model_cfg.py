"""Configs of rsl_rl's networks and of what a policy draws its actions from. Their types select the classes."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from genelab.core.errors import UserError
from genelab.core.ranges import Count, NotEmpty, PositiveInterval, Range, Rising, Share, Size, Sizes

StandardDeviation = Annotated[float, Range(1e-6, 1e6)]


@dataclass(kw_only=True)
class RslRlDistributionCfg:
    """A Gaussian over actions with a learnt standard deviation."""

    variants: ClassVar[dict[str, str]] = {
        "gaussian": "genelab.rl.model_cfg:RslRlDistributionCfg",
        "tanh_normal": "genelab.rl.model_cfg:RslRlTanhNormalCfg",
    }
    """The distributions there are, as a user names them."""

    init_std: StandardDeviation = 1.0
    std_type: Literal["scalar", "log"] = "scalar"
    state_dependent: bool = False
    """Let the network output the standard deviation too."""
    std_range: PositiveInterval = (1e-6, 1e6)
    """Bounds on the standard deviation."""
    final_std: StandardDeviation | None = None
    """Let the upper bound fall linearly from `init_std` to this: what is evaluated does not explore, and a robot may
    move otherwise without its noise."""
    final_std_between: Annotated[tuple[Share, Share], Rising()] = (0.0, 1.0)
    """From which share of the training on the bound falls, and from which on it is `final_std`."""

    def unused_fields(self) -> dict[str, str]:
        return {"final_std_between": "there is no final_std"} if self.final_std is None else {}

    def validate(self) -> None:
        if self.final_std is not None and not self.std_range[0] <= self.final_std <= self.init_std:
            raise UserError(f"final_std must be {self.std_range[0]:g} to {self.init_std:g}, not {self.final_std:g}")

    def arguments(self) -> dict[str, Any]:
        """The config as rsl_rl's networks take it."""
        kind = "HeteroscedasticGaussianDistribution" if self.state_dependent else "GaussianDistribution"
        settings = {"init_std": self.init_std, "std_type": self.std_type, "std_range": list(self.std_range)}
        return {"class_name": kind, **settings}


@dataclass(kw_only=True)
class RslRlTanhNormalCfg(RslRlDistributionCfg):
    """tanh of a Gaussian, so that actions lie in (-1, 1).

    The network outputs means and s; the Gaussian's standard deviation is softplus(s) + `min_std`, at first `init_std`.
    """

    min_std: StandardDeviation = 1e-3

    def validate(self) -> None:
        if self.init_std <= self.min_std:
            raise UserError(f"init_std must be above min_std, {self.min_std:g}, not {self.init_std:g}")

    def unused_fields(self) -> dict[str, str]:
        reason = "the standard deviation of tanh_normal is softplus of an output of the network, plus min_std"
        return dict.fromkeys(("std_type", "state_dependent", "std_range", "final_std", "final_std_between"), reason)

    def arguments(self) -> dict[str, Any]:
        settings = {"init_std": self.init_std, "min_std": self.min_std}
        return {"class_name": "genelab.rl.rsl_rl.tanh_normal:TanhNormal", **settings}


@dataclass(kw_only=True)
class RslRlModelCfg:
    """An MLP, behind a recurrent layer if `rnn_type` says so. The type of a model config selects the network class."""

    variants: ClassVar[dict[str, str]] = {
        "mlp": "genelab.rl.model_cfg:RslRlModelCfg",
        "cnn": "genelab.rl.model_cfg:RslRlCnnModelCfg",
    }
    """The kinds of network there are, as a user names them."""

    hidden_dims: Sizes = (128, 128)
    activation: Literal[
        "elu", "selu", "relu", "crelu", "lrelu", "tanh", "sigmoid", "softplus", "gelu", "swish", "mish"
    ] = "elu"
    """swish is also called SiLU."""
    obs_normalization: bool = True
    """Normalise observations by their running mean and standard deviation."""
    normalization_until: Count | None = None
    """Samples after which these stay: a policy that comes to rest makes them smaller, which makes its inputs larger."""
    rnn_type: Literal["lstm", "gru"] | None = None
    """The one knob that makes the network recurrent."""
    rnn_hidden_dim: Size = 64
    rnn_num_layers: Annotated[int, Range(1, 16)] = 1
    distribution: RslRlDistributionCfg | None = None
    """What the outputs parametrise; None for a critic."""

    def unused_fields(self) -> dict[str, str]:
        unused = {} if self.obs_normalization else {"normalization_until": "obs_normalization is false"}
        if self.rnn_type is not None:
            return unused
        reason = "rnn_type is none, so there is no recurrent layer (set rnn_type to lstm or gru)"
        return unused | {"rnn_hidden_dim": reason, "rnn_num_layers": reason}

    @property
    def is_recurrent(self) -> bool:
        return self.rnn_type is not None

    @property
    def network(self) -> str:
        """``"module:Class"`` of the network."""
        return f"genelab.rl.rsl_rl.networks:{'RnnNetwork' if self.is_recurrent else 'MlpNetwork'}"

    def arguments(self) -> dict[str, Any]:
        """What the network's class is made with, beside its inputs and outputs."""
        common = {
            "hidden_dims": list(self.hidden_dims),
            "activation": self.activation,
            "obs_normalization": self.obs_normalization,
            "distribution_cfg": None if self.distribution is None else self.distribution.arguments(),
        }
        if not self.is_recurrent:
            return common
        sizes = {"rnn_hidden_dim": self.rnn_hidden_dim, "rnn_num_layers": self.rnn_num_layers}
        return {**common, "rnn_type": self.rnn_type, **sizes}


@dataclass(kw_only=True)
class RslRlCnnModelCfg(RslRlModelCfg):
    """An MLP behind convolutions of the observation groups that are images."""

    channels: Annotated[tuple[Annotated[int, Range(1, 1024)], ...], NotEmpty(16)] = (16, 32)
    kernel_sizes: Annotated[tuple[Annotated[int, Range(1, 64)], ...], NotEmpty(16)] = (5, 3)
    strides: Annotated[tuple[Annotated[int, Range(1, 64)], ...], NotEmpty(16)] = (2, 2)

    def validate(self) -> None:
        if not len(self.channels) == len(self.kernel_sizes) == len(self.strides):
            raise UserError("channels, kernel_sizes and strides must be equally many: one of each per convolution")
        if self.is_recurrent:
            raise UserError("rnn_type does not go with convolutions: rsl_rl has no such network")

    @property
    def network(self) -> str:
        return "genelab.rl.rsl_rl.networks:CnnNetwork"

    def arguments(self) -> dict[str, Any]:
        layers = {"output_channels": self.channels, "kernel_size": self.kernel_sizes, "stride": self.strides}
        convolutions = {name: list(values) for name, values in layers.items()}
        return {**super().arguments(), "cnn_cfg": {**convolutions, "activation": self.activation}}
