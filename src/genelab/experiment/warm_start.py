"""Beginning a training with the weights of another one, also of a task that shows less."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.bundle import resolve_checkpoint
from genelab.experiment.setup import apply_run_changes, resolve
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint
from genelab.rl.rsl_rl.widen import widen


def read_warm_start(path: Path, task: str, env: ManagerBasedRlEnv, agent_cfg: Any) -> dict[str, Any]:
    """A checkpoint whose weights are to begin with; of another task's policy, made to fit what `env` shows."""
    checkpoint = read_checkpoint(resolve_checkpoint(path))
    infos = checkpoint[INFO_KEY]
    if infos["task"] == task or infos["backend"] != "rsl_rl" or not isinstance(agent_cfg, RslRlOnPolicyRunnerCfg):
        return checkpoint
    setup = resolve(infos["task"], play=True, preset="reference")
    apply_run_changes(setup, infos["env_changes"])
    setup.env_cfg.num_envs = 1
    source = ManagerBasedRlEnv(setup.env_cfg)
    widened = {
        f"{network}_state_dict": widen(
            checkpoint[f"{network}_state_dict"],
            inputs(source, infos["agent"]["obs_groups"][network]),
            inputs(env, agent_cfg.obs_groups[network]),
        )
        for network in ("actor", "critic")
    }
    source.close()
    return {**checkpoint, **widened}


def file_digest(checkpoint: Path) -> str:
    """sha256 of a checkpoint's file."""
    return hashlib.sha256(resolve_checkpoint(checkpoint).read_bytes()).hexdigest()


def inputs(env: ManagerBasedRlEnv, groups: Sequence[str]) -> list[str]:
    """What each column of a network's input is: group, term, number, and the frame it is from."""
    names = []
    for group_name in groups:
        group = env.observation_manager.groups[group_name]
        for frame in range(group.cfg.history):
            names += [
                f"{group_name}.{term}[{i}], frame {frame}" for term, dim in group.term_dims.items() for i in range(dim)
            ]
    return names
