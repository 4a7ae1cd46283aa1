"""What managers have in common: reset, a state that a resumed run continues from, and tables of their terms."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from genelab.core.table import Table
from genelab.core.tensors import restore
from genelab.envs.terms import Term, check_shape


class Manager:
    """Base of managers. `buffers` names the tensor attributes that are the manager's state."""

    buffers: Sequence[str] = ()

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        """Named objects with ``reset``, ``state_dict`` and ``load_state_dict``."""
        return ()

    def tables(self) -> list[Table]:
        """The terms as data: what ``print(manager)``, ``genelab info`` and the documents show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

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
            restore(getattr(self, name), state["buffers"], name)
        for name, term in self.stateful_terms():
            term.load_state_dict(state["terms"][name])


def instances(terms: Iterable[Term]) -> list[tuple[str, Any]]:
    """The terms among these that are objects with a state."""
    return [(term.name, term.instance) for term in terms if term.instance is not None]


def check_terms(terms: Iterable[Term], num_envs: int, dtype: torch.dtype | None = None) -> None:
    """Evaluate terms that return one value per world once; raise for the first that does not fit."""
    for term in terms:
        check_shape(term, term.checked(), (num_envs,), dtype)


def term_table(title: str, terms: Iterable[Term], columns: Mapping[str, Callable[[Any], Any]] | None = None) -> Table:
    """A row per term: its name, the given columns of its config, what its function does, and its parameters."""
    extra = columns or {}
    rows = [
        (term.name, *(value(term.cfg) for value in extra.values()), first_line(term.cfg.func), term.cfg.params)
        for term in terms
    ]
    return Table(("name", *extra, "description", "parameters"), rows, title)


def built_term_table(title: str, terms: Mapping[str, Any]) -> Table:
    """A row per term that is an object of its own (an action, a command): its size, and its config's fields."""
    rows = []
    for name, term in terms.items():
        settings = {f.name: getattr(term.cfg, f.name) for f in dataclasses.fields(term.cfg)}
        changed = {key: value for key, value in settings.items() if value is not None}
        rows.append((name, term.dim, first_line(type(term.cfg)), changed))
    return Table(("name", "size", "description", "parameters"), rows, title)


def first_line(documented: Any) -> str:
    """The first line of a docstring, without the shapes that may stand at its end."""
    line = (inspect.getdoc(documented) or "").split("\n")[0]
    return re.sub(r"\s\s+\(.*$", "", line)
