"""MuJoCo ships no types for its compiled part: everything in it is Any."""

from typing import Any

def __getattr__(name: str) -> Any: ...
