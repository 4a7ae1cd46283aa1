"""What a training may begin with: the weights of a checkpoint, also of a task that shows less."""

from dataclasses import dataclass
from typing import Any

from genelab.envs import ManagerBasedRlEnv


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint to begin with, and what the policy in it saw."""

    checkpoint: dict[str, Any]
    columns: dict[str, list[str]] | None = None
    """What each column of each observation group is in the checkpoint's task; None if it is the task of the run."""

    @staticmethod
    def of(env: ManagerBasedRlEnv) -> dict[str, list[str]]:
        """What each column of each observation group of an environment is: group, term, number, and its frame."""
        return {
            name: [
                f"{name}.{term}[{i}], frame {frame}"
                for frame in range(group.cfg.history)
                for term, dim in group.term_dims.items()
                for i in range(dim)
            ]
            for name, group in env.observation_manager.groups.items()
        }
