"""Whether numbers are finite, and which are not."""

import math
from collections.abc import Mapping

from torch import Tensor, nn

from genelab.core.errors import RunStopped


def is_finite(values: Tensor) -> bool:
    """Whether no value is NaN or infinite. Their sum tells in one pass, unless large values overflow in it."""
    return math.isfinite(float(values.sum())) or bool(values.isfinite().all())


def weights_not_finite(network: nn.Module) -> str | None:
    """The name of the first weight or statistic of a network that is not finite."""
    weights = {name: w for name, w in network.state_dict().items() if isinstance(w, Tensor) and w.is_floating_point()}
    return next((name for name, values in weights.items() if not is_finite(values)), None)


def networks_not_finite(networks: Mapping[str, nn.Module]) -> str | None:
    """The networks that are not finite, in words, each with its first weight that is not."""
    bad = {name: weight for name, network in networks.items() if (weight := weights_not_finite(network)) is not None}
    return " and ".join(f"network '{name}' ({weight})" for name, weight in bad.items()) or None


def require_finite_weights(network: nn.Module) -> None:
    """Raise a `RunStopped` for a policy whose weights are not finite: so would its actions be."""
    if (name := weights_not_finite(network)) is not None:
        raise RunStopped(f"the policy's weights are not finite ({name}), and so its actions are not")
