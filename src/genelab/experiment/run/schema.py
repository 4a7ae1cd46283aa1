"""What the files of a run hold: the entries that are read and their types, the same for every reader."""

from typing import Annotated, Any

from genelab.core.ranges import CountOrZero, Range
from genelab.rl.eval_settings import EvalSettings

RECORD: dict[str, Any] = {
    **dict.fromkeys(("task", "backend", "engine", "preset", "command", "status", "started_at"), str),
    **dict.fromkeys(("git_commit", "warm_start", "warm_start_sha256", "weights_sha256"), str | None),
    **dict.fromkeys(("versions", "env_changes", "overrides", "machine", "metrics"), dict[str, Any]),
    "seed": int,
    "lines": dict[str, int],
    "iteration": CountOrZero,
    "torch_threads": Annotated[int, Range(1, 1024)],
    "evaluation": EvalSettings | None,
}
"""run.json"""

SOURCE = ("task", "backend", "seed", "preset", "engine", "git_commit", "versions")
"""Entries of run.json that every checkpoint carries too."""

CONTINUED_BY = (*SOURCE, "env_changes", "evaluation", "torch_threads")
"""Entries of run.json without which a run cannot be continued."""

ROW: dict[str, Any] = {"iteration": CountOrZero}
"""A line of metrics.jsonl and of evaluations.jsonl; all else in it are numbers, and what is not is left out."""

EVALUATION: dict[str, Any] = {
    "metrics": dict[str, Any],
    "num_episodes": CountOrZero,
    "complete": bool,
    "seed": int,
    "deterministic": bool,
    "noise": bool,
    "engine": str,
}
"""eval.json"""

SUMMARY: dict[str, Any] = {
    **dict.fromkeys(("metrics", "runs", "baseline"), dict[str, Any]),
    **dict.fromkeys(("seeds", "failed"), tuple[int, ...]),
}
"""summary.json"""
