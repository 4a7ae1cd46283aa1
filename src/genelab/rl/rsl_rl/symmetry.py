"""Mirror symmetry as rsl_rl asks for it: a function that puts mirror images behind the samples of a batch."""

from typing import Any

import torch
from rsl_rl.extensions import Symmetry
from tensordict import TensorDict
from torch import Tensor

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.symmetry import Mirror
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg


class Augmentation:
    """Doubles a batch. Either part may be missing."""

    def __init__(self, mirror: Mirror):
        self._mirror = mirror

    def __call__(
        self, env: Any, obs: TensorDict | None, actions: Tensor | None
    ) -> tuple[TensorDict | None, Tensor | None]:
        if obs is not None:
            mirrored = self._mirror.observations({name: obs[name] for name in self._mirror.groups})
            obs = torch.cat((obs, TensorDict(mirrored, batch_size=obs.batch_size, device=obs.device)))  # type: ignore
        if actions is not None:
            actions = torch.cat((actions, self._mirror.action(actions)))
        return obs, actions


def make_symmetry(cfg: RslRlOnPolicyRunnerCfg, env: ManagerBasedRlEnv) -> Symmetry | None:
    """rsl_rl's symmetry extension, if the agent config asks for it."""
    wanted = cfg.algorithm.symmetry
    if wanted is None:
        return None
    if cfg.actor.is_recurrent or cfg.critic.is_recurrent:
        raise UserError("agent.algorithm.symmetry does not go with recurrent networks")
    return Symmetry(
        env,  # type: ignore[arg-type]  # handed through to `Augmentation`, which does not need it
        Augmentation(Mirror(env, wanted.table)),
        use_data_augmentation=wanted.augment,
        use_mirror_loss=wanted.mirror_loss > 0.0,
        mirror_loss_coeff=wanted.mirror_loss,
    )
