"""What learners and the rest of the lab know of each other. Everything after training knows only `Policy`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv

if TYPE_CHECKING:
    from genelab.rl.deployed import Deployed
    from genelab.rl.loop import Learner


class Policy(ABC):
    """Maps observations of all worlds to actions."""

    @abstractmethod
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        """Actions (N, A) for observation groups (N, d)."""

    def reset(self, env_ids: Tensor | None = None) -> None:  # noqa: B027
        """Forget the past of these worlds (all if None): the state of a recurrent policy."""

    @property
    def deployed(self) -> "Deployed":
        """What of the policy runs on a robot, for export."""
        raise UserError(f"a {type(self).__name__} has no network to export")


class TrainingRun(Protocol):
    """What a backend needs of the run it trains in: of `genelab.experiment.run.directory.Run`, the one on disk."""

    directory: Path

    @property
    def stop_requested(self) -> bool: ...
    def log(
        self, iteration: int, total_iterations: int, metrics: dict[str, float], unit: str = "iteration"
    ) -> None: ...
    def save_checkpoint(self, name: str, data: dict[str, Any]) -> Path: ...
    def save_state(self, data: dict[str, Any]) -> None: ...
    def load_state(self) -> dict[str, Any] | None: ...


@dataclass(frozen=True)
class Hooks:
    """What happens beside a training."""

    after_step: Callable[[], None] | None = None
    after_iteration: "Callable[[Learner], None] | None" = None
    """Called after each iteration, to look at the learner without disturbing it."""
    say: Callable[[str], None] = print
    workers: Any = None
    """The kind of workers that collect, a `genelab.rl.shards.crew.Remote`; None takes processes of this machine."""


@dataclass
class InferenceSetup:
    """An environment and the policy that acts in it."""

    env: ManagerBasedRlEnv
    policy: Policy


@dataclass(frozen=True)
class TrainResult:
    """How a training ended."""

    iteration: int
    finished: bool
    """False if it was stopped before its last iteration."""
    checkpoint: Path
    weights_sha256: str
    unit: str = "iteration"
    """What `iteration` counts."""
