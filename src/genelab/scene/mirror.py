"""How a robot looks in a mirror, by the names of its joints."""

from dataclasses import dataclass
from typing import Literal


@dataclass(kw_only=True)
class MirrorTable:
    """How a robot's joints look in a mirror."""

    swap: tuple[tuple[str, str], ...]
    """Beginnings of the names of right and left joints that change places."""
    flip: str
    """Regular expression of the joints that change sign."""
    axis: Literal["x", "y"] = "y"
    """What changes sign in space: y for a robot with equal sides, x for one that is the same in front and behind."""

    def partner(self, joint: str) -> str:
        """The joint that this one is seen as."""
        for pair in self.swap:
            for ours, theirs in (pair, pair[::-1]):
                if joint.startswith(ours):
                    return theirs + joint.removeprefix(ours)
        return joint
