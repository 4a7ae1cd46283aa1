"""Reading what a training is to begin with: the weights of another one, also of a task that shows less."""

from pathlib import Path

from genelab.core.checksums import file_sha256
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.bundle import resolve_checkpoint
from genelab.experiment.setup import apply_run_changes, resolve
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint
from genelab.rl.warm_start import WarmStart


def read_warm_start(path: Path, task: str) -> WarmStart:
    """A checkpoint to begin with and, if it is of another task than `task`, what that task shows."""
    checkpoint = read_checkpoint(resolve_checkpoint(path, task))
    infos = checkpoint[INFO_KEY]
    if infos["task"] == task:
        return WarmStart(checkpoint)
    setup = resolve(infos["task"], play=True, preset="reference")
    apply_run_changes(setup, infos["env_changes"])
    setup.env_cfg.num_envs = 1
    source = ManagerBasedRlEnv(setup.env_cfg)
    columns = WarmStart.of(source)
    source.close()
    return WarmStart(checkpoint, columns)


def file_digest(checkpoint: Path, task: str) -> str:
    """sha256 of the file of a checkpoint that a training of `task` begins with."""
    return file_sha256(resolve_checkpoint(checkpoint, task))
