"""Mirror symmetry as rsl_rl asks for it: a function that puts mirror images behind the samples of a batch."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv
from genelab.mdp.symmetry import Mirror
from genelab.rl.cfg import RslRlSymmetryCfg


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


def symmetry_cfg(cfg: RslRlSymmetryCfg | None, env: ManagerBasedRlEnv) -> dict[str, Any] | None:
    """The config of rsl_rl's symmetry extension."""
    if cfg is None:
        return None
    return {
        "data_augmentation_func": Augmentation(Mirror(env, cfg.table)),
        "use_data_augmentation": cfg.augment,
        "use_mirror_loss": cfg.mirror_loss > 0.0,
        "mirror_loss_coeff": cfg.mirror_loss,
    }
