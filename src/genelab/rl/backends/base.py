"""What a backend is: it trains a policy in a run, and loads one from a checkpoint.

play, eval, export and everything else after training know only `Policy`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv


@dataclass(frozen=True)
class Actor:
    """A deterministic actor in the pieces an export is made of: normaliser, recurrent layers if any, head."""

    obs_groups: tuple[str, ...]
    """The observation groups it reads, side by side in this order."""
    obs_dim: int
    head: nn.Module
    """From the normalised observations, or the output of `rnn`, to actions."""
    normalizer: nn.Module | None = None
    rnn: nn.LSTM | nn.GRU | None = None


class Policy(ABC):
    """Maps observations of all worlds to actions."""

    @abstractmethod
    def act(self, obs: dict[str, Tensor], deterministic: bool = True) -> Tensor:
        """Actions (N, A) for observation groups (N, d)."""

    def reset(self, env_ids: Tensor | None = None) -> None:  # noqa: B027
        """Forget the past of these worlds (all if None): the state of a recurrent policy."""

    @property
    @abstractmethod
    def module(self) -> nn.Module:
        """The actor's network."""

    @property
    def actor(self) -> Actor:
        """The actor in pieces, for export."""
        raise UserError(f"a {type(self).__name__} cannot be exported")


class TrainingRun(Protocol):
    """What a backend needs of the run it trains in. `genelab.experiment.run.Run` is the one on disk."""

    directory: Path

    @property
    def stop_requested(self) -> bool:
        """The user asked the run to stop at the next opportunity."""
        ...

    def log(self, iteration: int, total_iterations: int, metrics: dict[str, float]) -> None:
        """Record one iteration."""
        ...

    def save_checkpoint(self, name: str, data: dict[str, Any]) -> Path:
        """Store a checkpoint under a file name."""
        ...

    def save_state(self, data: dict[str, Any]) -> None:
        """Store what exact resume needs, replacing the previous state."""
        ...

    def load_state(self) -> dict[str, Any] | None:
        """The last stored state, or None if the run starts from nothing."""
        ...


class Snapshot(Protocol):
    """A learner between two iterations, for hooks that look at it without disturbing it."""

    @property
    def iteration(self) -> int:
        """Complete iterations."""
        ...

    @property
    def previous(self) -> int:
        """Iterations that were complete when the last hook was called."""
        ...

    @property
    def steps(self) -> int:
        """Environment steps so far, over all worlds."""
        ...

    def policy(self, num_envs: int) -> Policy:
        """A copy of the present policy for other worlds than those it is trained in."""
        ...

    def checkpoint(self) -> dict[str, Any]:
        """What a checkpoint file of this moment holds."""
        ...


@dataclass(frozen=True)
class Hooks:
    """What happens beside a training."""

    after_step: Callable[[], None] | None = None
    """Called after each control step."""
    after_iteration: Callable[[Snapshot], None] | None = None
    """Called after each iteration."""


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


class Backend(ABC):
    """One RL library."""

    name: str
    checkpoint_suffix: str = ".pt"

    @abstractmethod
    def train(
        self,
        env: ManagerBasedRlEnv,
        agent_cfg: Any,
        run: TrainingRun,
        infos: dict[str, Any],
        warm_start: dict[str, Any] | None = None,
        hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
    ) -> TrainResult:
        """Train to the end of the config's budget, continuing from the run's state if there is one.

        `infos` goes into every checkpoint. `warm_start` is a checkpoint whose weights to begin with.
        """

    @abstractmethod
    def load(self, env: ManagerBasedRlEnv, agent_cfg: Any, checkpoint: dict[str, Any]) -> Policy:
        """The policy of a checkpoint, for the observations of `env`."""
