"""What a learning method is: what is learnt, how, and what of it is deployed. The learner around it only loops.

A method is one module with two classes. Its config is a dataclass derived from `RslRlPpoCfg`, or from another method's
config, whose ``method`` names the other class; the type of ``agent.algorithm`` thereby selects the method. That class
declares

- its networks, made from sets of observation groups (``agent.obs_groups``) by name,
- its optimisers; a loss with an optimiser of its own is an entry beside the others,
- how rollouts are acted, recorded and learnt from,
- what it logs,
- what is deployed: one module with explicit state.

Checkpoints and exact resume carry whatever networks and optimisers a method names.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import torch
from rsl_rl.modules import HiddenState
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor, nn
from torch.optim import Optimizer

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.checkpoint import load_part, stored_hidden_state
from genelab.rl.deployed import Deployed
from genelab.rl.methods.peers import Peers
from genelab.rl.model_cfg import RslRlDistributionCfg


class Method(ABC):
    """A method that learns from rollouts of all worlds."""

    storage: RolloutStorage
    """What rollouts are recorded in."""
    optimiser_steps: int = 0
    """Gradient steps so far."""
    exploration: RslRlDistributionCfg | None = None
    """How the actor explores; the learner sets it, whoever made the actor."""

    @classmethod
    @abstractmethod
    def build(cls, env: ManagerBasedRlEnv, cfg: RslRlOnPolicyRunnerCfg) -> Self:
        """Make the networks for the observations and actions of `env`, and everything they learn with."""

    def join(self, peers: Peers) -> None:
        """Learn together with other processes from now on."""
        raise UserError(f"{type(self).__name__} learns in one process (agent.rollout.learners 1)")

    @abstractmethod
    def networks(self) -> dict[str, nn.Module]:
        """All that is learnt, by name, the deployed actor first."""

    @abstractmethod
    def optimizers(self) -> dict[str, Optimizer]:
        """All optimisers, by name. A name is not that of a network."""

    def start_iteration(self, progress: float) -> None:  # noqa: B027
        """Called before each rollout with the share of the training that is over: what follows a schedule moves on."""

    @abstractmethod
    def act(self, obs: TensorDict) -> Tensor:
        """Actions to explore with, (N, A)."""

    @abstractmethod
    def process_env_step(self, obs: TensorDict, rewards: Tensor, dones: Tensor, extras: dict[str, Any]) -> None:
        """Record what the last actions led to. `extras` have ``final_obs`` and ``time_outs``, the episodes cut off."""

    @abstractmethod
    def compute_returns(self, obs: TensorDict) -> None:
        """Finish a rollout that ends at `obs`, each world by itself: workers do it for their shard of the worlds."""

    def compute_advantages(self) -> None:  # noqa: B027
        """What follows from the returns of all worlds together, before an update."""

    @abstractmethod
    def update(self) -> dict[str, float]:
        """Learn from the rollout and forget it. Returns the mean of each loss."""

    def metrics(self) -> dict[str, float]:
        """Numbers to log beside the losses."""
        return {}

    @abstractmethod
    def deployed(self) -> Deployed:
        """What runs on the robot. It shares the weights of the networks."""

    @abstractmethod
    def sample(self, obs: TensorDict) -> Tensor:
        """Random actions of the present policy, (N, A), without recording anything."""

    def checkpoint(self) -> dict[str, Any]:
        """Networks and optimisers as a checkpoint holds them: ``<name>_state_dict``."""
        return {f"{name}_state_dict": part.state_dict() for name, part in self._parts(weights_only=False).items()}

    def load_checkpoint(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        """Take over the networks and, unless `weights_only`, the optimisers."""
        for name, part in self._parts(weights_only).items():
            load_part(part, checkpoint[f"{name}_state_dict"])

    def memory(self) -> dict[str, HiddenState]:
        """What recurrent networks remember of the running episodes, by network."""
        return {name: network.get_hidden_state() for name, network in self._recurrent().items()}

    def load_memory(self, memory: dict[str, HiddenState], num_envs: int) -> None:
        """Continue with what `memory` returned."""
        for name, network in self._recurrent().items():
            network.reset(hidden_state=stored_hidden_state(memory, name, network.rnn.rnn, num_envs))

    def forget(self, dones: Tensor | None = None) -> None:
        """Forget the running episodes where `dones` (N,) is true; all of them without it."""
        for network in self._recurrent().values():
            network.reset(dones)

    def train_mode(self) -> None:
        """Networks are about to learn."""
        for network in self.networks().values():
            network.train()

    def _parts(self, weights_only: bool) -> dict[str, Any]:
        return {**self.networks(), **({} if weights_only else self.optimizers())}

    def _recurrent(self) -> dict[str, Any]:
        return {name: network for name, network in self.networks().items() if getattr(network, "is_recurrent", False)}


def batch_of(env: ManagerBasedRlEnv, obs: dict[str, Tensor]) -> TensorDict:
    """Observation groups of all worlds as rsl_rl's networks take them."""
    return TensorDict(obs, batch_size=[env.num_envs], device=torch.device(env.device))  # type: ignore[arg-type]
