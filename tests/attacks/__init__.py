"""Attacks on the project, each a module with `run(count, seed)` that yields one `Trial` per attempt.

A sample of each runs with the tests (`tests/test_<attack>.py`); the long form of all of them is `make soak`.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Trial:
    """One attempt and how it ended."""

    what: str
    """What was done, so that one can do it again."""
    outcome: Literal["refused", "passed", "broke"]
    """Refused in one line, passed with the right result, or broke: a traceback, a hang, or a wrong result unnoticed."""
    said: str = ""
    """The message of a refusal, or how it broke."""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.what}  {self.said}".rstrip()
