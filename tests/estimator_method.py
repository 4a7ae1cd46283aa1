"""A learning method from outside the package: PPO whose actor also sees what a second network estimates.

The estimator learns to tell the cart's position and the pole's angle, which the critic's group shows, from the policy's
group, with a loss and an optimiser of its own.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.deployed import Deployed
from genelab.rl.methods.base import batch_of
from genelab.rl.methods.ppo import PPO
from genelab.rl.rsl_rl.networks import MlpNetwork, make_network

LABELS = 2


@dataclass(kw_only=True)
class EstimatorCfg(RslRlPpoCfg):
    """PPO with an estimator."""

    method: ClassVar[str] = "estimator_method:EstimatorPPO"
    estimator_rate: float = 1e-2
    """Learning rate of the estimator."""


class EstimatingActor(MlpNetwork):
    """An actor that sees its observations and an estimate beside them."""

    estimator: nn.Module

    def _get_latent_dim(self) -> int:
        return self.obs_dim + LABELS

    def get_latent(self, obs: TensorDict, masks: Any = None, hidden_state: Any = None) -> Tensor:
        seen = super().get_latent(obs)
        return torch.cat((seen, self.estimator(seen).detach()), dim=-1)

    def deployed(self) -> Deployed:
        return EstimatorAndActor(self)


class EstimatorAndActor(Deployed):
    """What runs on the robot."""

    def __init__(self, actor: EstimatingActor):
        super().__init__(tuple(actor.obs_groups), actor.obs_dim)
        self.normalizer, self.estimator, self.mlp = actor.obs_normalizer, actor.estimator, actor.mlp

    def forward(self, obs: Tensor, images: list[Tensor], state: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        seen = self.normalizer(obs)
        return self.mlp(torch.cat((seen, self.estimator(seen)), dim=-1)), state


class EstimatorPPO(PPO):
    """PPO, and a regression after each update."""

    estimator: nn.Module

    @classmethod
    def build(cls, env: ManagerBasedRlEnv, cfg: RslRlOnPolicyRunnerCfg) -> Self:
        obs = batch_of(env, env.obs)
        actor = EstimatingActor(obs, {"actor": ["policy"]}, "actor", env.num_actions, **cfg.actor.arguments())
        storage = RolloutStorage("rl", env.num_envs, cfg.num_steps_per_env, obs, [env.num_actions])
        method = cls(actor, make_network(cfg, "critic", obs, 1), storage, cfg.algorithm, env.device)
        method.estimator = nn.Linear(actor.obs_dim, LABELS)
        object.__setattr__(actor, "estimator", method.estimator)  # not a part of the actor: PPO does not learn it
        method.regression = Adam(method.estimator.parameters(), lr=cfg.algorithm.estimator_rate)  # type: ignore
        return method

    def networks(self) -> dict[str, nn.Module]:
        return {**super().networks(), "estimator": self.estimator}

    def optimizers(self) -> dict[str, Optimizer]:
        return {**super().optimizers(), "regression": self.regression}

    def update(self) -> dict[str, float]:
        observations = self.storage.observations.flatten(0, 1).clone()
        losses = super().update()
        seen = self.actor.obs_normalizer(observations["policy"]).detach()
        loss = (self.estimator(seen) - observations["critic"][:, :LABELS]).square().mean()
        self.regression.zero_grad()
        loss.backward()
        self.regression.step()
        self.optimiser_steps += 1
        return {**losses, "estimate": loss.item()}
