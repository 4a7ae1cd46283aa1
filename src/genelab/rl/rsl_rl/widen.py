"""Networks that see more than they were trained with: new inputs begin with weights of zero."""

from collections.abc import Sequence

import torch
from torch import Tensor

from genelab.core.errors import UserError


def widen(state: dict[str, Tensor], source: Sequence[str], target: Sequence[str]) -> dict[str, Tensor]:
    """The weights of an actor or critic with inputs `source` for the inputs `target`, which contain them by name.

    The widened network computes what the old one did, whatever the new inputs are.
    """
    if list(source) == list(target):
        return state
    missing = [name for name in source if name not in set(target)]
    if missing:
        raise UserError(f"the checkpoint's policy sees {missing[0]}, which this task does not show")
    places = torch.tensor([target.index(name) for name in source])
    first_layer = "rnn.rnn.weight_ih_l0" if any(name.startswith("rnn.") for name in state) else "mlp.0.weight"
    fills = {first_layer: 0.0, "obs_normalizer._mean": 0.0, "obs_normalizer._var": 1.0, "obs_normalizer._std": 1.0}
    widened = dict(state)
    for name, fill in fills.items():
        if name in state:
            widened[name] = torch.full((state[name].shape[0], len(target)), fill).index_copy(1, places, state[name])
    return widened
