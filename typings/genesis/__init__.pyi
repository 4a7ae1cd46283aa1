"""Genesis makes most of its names when it is imported or initialised, and is optional: everything in it is Any."""

from typing import Any

def __getattr__(name: str) -> Any: ...
