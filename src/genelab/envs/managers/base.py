"""What managers have in common: reset, a state that a resumed run continues from, and tables of their terms."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import about
from genelab.core.table import Table
from genelab.envs.cfg import ActionTermCfg, CommandTermCfg, TermCfg
from genelab.envs.terms import Env, Stateful, Term, check_shape


class Manager(Stateful):
    """Base of managers. Their state is their own, and that of their terms."""

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
        terms = {name: term.state_dict() for name, term in self.stateful_terms()}
        return {"buffers": super().state_dict(), "terms": terms}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state["buffers"])
        for name, term in self.stateful_terms():
            term.load_state_dict(state["terms"][name])


class TermManager(Manager):
    """Base of managers whose terms are functions of the environment."""

    kind: str
    """What errors call a term."""
    title: str
    dtype: torch.dtype | None = None
    """Of what terms return, if it matters."""
    columns: Mapping[str, Callable[[Any], Any]] = {}
    """What the table shows of a term's config besides its parameters."""

    def __init__(self, cfg: Mapping[str, TermCfg], env: Env):
        self._env = env
        self.terms = [Term(self.kind, name, term, env) for name, term in cfg.items()]

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return [(term.name, term.instance) for term in self.terms if term.instance is not None]

    def check(self) -> None:
        """Evaluate every term once; raise for the first that does not return one value per world."""
        for term in self.terms:
            check_shape(term, term.checked(), (self._env.num_envs,), self.dtype)

    def tables(self) -> list[Table]:
        """A row per term: its name, the columns of its config, what its function does, and its parameters."""
        rows = []
        for term in self.terms:
            shown = (value(term.cfg) for value in self.columns.values())
            rows.append((term.name, *shown, first_line(term.cfg.func), term.cfg.params))
        return [Table(("name", *self.columns, "description", "parameters"), rows, self.title)]


class SummingManager(TermManager):
    """Base of managers that sum each term over the running episode."""

    state = ("episode_sums",)

    def __init__(self, cfg: Mapping[str, TermCfg], env: Env):
        super().__init__(cfg, env)
        self.episode_sums: Tensor = torch.zeros(len(self.terms), env.num_envs, dtype=torch.float64, device=env.device)
        """(T, N) since the episode began; float64, for a thousand small steps add up."""

    def reset(self, env_ids: Tensor) -> None:
        super().reset(env_ids)
        self.episode_sums.index_fill_(1, env_ids, 0.0)


class BuiltTermManager(Manager):
    """Base of managers whose terms are objects that their configs build, by name."""

    kind: str
    """What errors call a term; its plural is the title of the table."""

    def __init__(self, cfg: Mapping[str, ActionTermCfg | CommandTermCfg], env: Env):
        self.terms: dict[str, Any] = {}
        for name, term in cfg.items():
            with about(f"{self.kind} term '{name}'"):
                self.terms[name] = term.build(name, env)

    def stateful_terms(self) -> Iterable[tuple[str, Any]]:
        return self.terms.items()

    def tables(self) -> list[Table]:
        """A row per term: its size, and its config's fields."""
        rows = []
        for name, term in self.terms.items():
            settings = {key: value for key, value in vars(term.cfg).items() if value is not None}
            rows.append((name, term.dim, first_line(type(term.cfg)), settings))
        return [Table(("name", "size", "description", "parameters"), rows, f"{self.kind}s")]


def first_line(documented: Any) -> str:
    """The first line of a docstring, without the shapes that may stand at its end."""
    return re.sub(r"\s\s+\(.*$", "", (inspect.getdoc(documented) or "").split("\n")[0])
