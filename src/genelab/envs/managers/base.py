"""What managers have in common: reset, and a state that a resumed run continues from."""

from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from genelab.envs.terms import Term


class Manager:
    """Base of managers. `buffers` names the tensor attributes that are the manager's state."""

    buffers: Sequence[str] = ()

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        """Named objects with ``reset``, ``state_dict`` and ``load_state_dict``."""
        return ()

    def reset(self, env_ids: Tensor) -> None:
        """Start new episodes in these worlds."""
        for _, term in self.stateful_terms():
            term.reset(env_ids)

    def state_dict(self) -> dict[str, Any]:
        return {
            "buffers": {name: getattr(self, name).clone() for name in self.buffers},
            "terms": {name: term.state_dict() for name, term in self.stateful_terms()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self.buffers:
            getattr(self, name).copy_(state["buffers"][name])
        for name, term in self.stateful_terms():
            term.load_state_dict(state["terms"][name])


def instances(terms: Iterable[Term]) -> list[tuple[str, Any]]:
    """The terms among these that are objects with a state."""
    return [(term.name, term.instance) for term in terms if term.instance is not None]
