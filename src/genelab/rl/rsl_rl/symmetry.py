"""Mirror symmetry for learners: images of the samples of a batch, and how far a policy is from being symmetric."""

import copy
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import mse_loss

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.symmetry import Mirror
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg


class MirrorImages:
    """What the learner makes of a task's symmetry."""

    def __init__(self, cfg: RslRlSymmetryCfg, mirror: Mirror):
        self.cfg = cfg
        self._mirror = mirror

    def versions(self, batch: Any) -> list[Any]:
        """What epochs learn from in turn, made from a batch once: samples, and behind them mirror images."""
        if not self.cfg.augment:
            return [batch]
        samples = torch.arange(len(batch.actions), device=batch.actions.device)
        if not self.cfg.alternate:
            return [self._with_images(batch, samples, samples)]
        halves = samples.tensor_split(2)
        return [self._with_images(batch, *pair) for pair in (halves, halves[::-1])]

    def loss(self, actor: Any, batch: Any, size: int) -> Tensor | None:
        """Mean squared difference between the action in the mirror and the mirrored action.

        The actor has just seen the batch, whose first `size` samples are no mirror images. None where it would take
        another pass through the network that nothing is learnt from.
        """
        actions = actor.output_mean
        if self.cfg.augment and not self.cfg.alternate:
            in_the_mirror = actions[size:]
        elif self.cfg.mirror_loss > 0.0:
            in_the_mirror = actor(self._of(batch.observations[:size]))
        else:
            return None
        return mse_loss(in_the_mirror, self._mirror.action(actions[:size]).detach())

    def _with_images(self, batch: Any, kept: Tensor, mirrored: Tensor) -> Any:
        """A batch of the samples `kept`, followed by the mirror images of the samples `mirrored`."""
        made = copy.copy(batch)
        made.observations = torch.cat((batch.observations[kept], self._of(batch.observations[mirrored])))
        made.actions = torch.cat((batch.actions[kept], self._mirror.action(batch.actions[mirrored])))
        both = torch.cat((kept, mirrored))
        for name in ("old_actions_log_prob", "values", "advantages", "returns"):
            setattr(made, name, getattr(batch, name)[both])
        made.old_distribution_params = tuple(params[kept] for params in batch.old_distribution_params)
        return made

    def _of(self, obs: TensorDict) -> TensorDict:
        images = self._mirror.observations({name: obs[name] for name in self._mirror.groups})
        return TensorDict(images, batch_size=obs.batch_size, device=obs.device)  # type: ignore[arg-type]


def make_symmetry(cfg: RslRlOnPolicyRunnerCfg, env: ManagerBasedRlEnv) -> MirrorImages | None:
    """The symmetry that the agent config asks for."""
    wanted = cfg.algorithm.symmetry
    if wanted is None:
        return None
    if cfg.actor.is_recurrent or cfg.critic.is_recurrent:
        remedy = "take it out with --agent.algorithm.symmetry none"
        raise UserError(f"agent.algorithm.symmetry does not go with recurrent networks: {remedy}")
    return MirrorImages(wanted, Mirror(env, wanted.table))
