"""Mirror symmetry for learners: images of the samples of a batch, and how far a policy is from being symmetric."""

from collections.abc import Sequence
from types import NoneType
from typing import Any

import torch
from rsl_rl.modules.distribution import GaussianDistribution
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import mse_loss

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.symmetry import Mirror, Reflection, side_by_side
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg
from genelab.rl.layers import Symmetric
from genelab.rl.rsl_rl.networks import MlpNetwork


class MirrorImages:
    """What the learner makes of a task's symmetry."""

    def __init__(self, cfg: RslRlSymmetryCfg, mirror: Mirror):
        self.cfg = cfg
        self._mirror, self.mirrored = mirror, mirror.action

    def append(self, batch: Any) -> None:
        """Put the mirror images behind the samples of a batch, if they are to be learnt from."""
        if not self.cfg.augment:
            return
        batch.observations = torch.cat((batch.observations, self._of(batch.observations)))  # type: ignore[arg-type]
        batch.actions = torch.cat((batch.actions, self.mirrored(batch.actions)))
        for name in ("old_actions_log_prob", "values", "advantages", "returns"):
            setattr(batch, name, getattr(batch, name).repeat(2, 1))

    def loss(self, actor: Any, batch: Any, size: int) -> Tensor:
        """Mean squared difference between the action in the mirror and the mirrored action, in standard deviations.

        The actor has just seen the batch, whose first `size` samples are no mirror images.
        """
        actions, std = actor.output_mean, actor.output_std[:size].detach()
        in_the_mirror = actions[size:] if self.cfg.augment else actor(self._of(batch.observations))
        return mse_loss(in_the_mirror / std, self.mirrored(actions[:size]).detach() / std)

    def _of(self, obs: TensorDict) -> TensorDict:
        images = self._mirror.observations({name: obs[name] for name in self._mirror.groups})
        return TensorDict(images, batch_size=obs.batch_size, device=obs.device)  # type: ignore[arg-type]


def make_symmetry(cfg: RslRlOnPolicyRunnerCfg, env: ManagerBasedRlEnv, networks: Sequence[Any]) -> MirrorImages | None:
    """What the agent config asks for: mirror images to learn from, or networks that need none."""
    wanted = cfg.algorithm.symmetry
    if wanted is None:
        return None
    if cfg.actor.is_recurrent or cfg.critic.is_recurrent:
        remedy = "take it out with --agent.algorithm.symmetry none"
        raise UserError(f"agent.algorithm.symmetry does not go with recurrent networks: {remedy}")
    mirror = Mirror(env, wanted.table)
    if not wanted.exact:
        return MirrorImages(wanted, mirror)
    value = Reflection(torch.arange(1, device=env.device), torch.ones(1, device=env.device))
    for network in networks:
        kind, distribution = type(network), type(network.distribution)
        if kind is not MlpNetwork or distribution not in (GaussianDistribution, NoneType):
            raise UserError("agent.algorithm.symmetry.exact is for MLPs whose deviation is the same in all states")
        inputs = side_by_side([mirror.groups[group] for group in network.obs_groups], env.device)
        network.mlp = Symmetric(network.mlp, inputs, value if distribution is NoneType else mirror.action)
    return None
