"""A trained policy in an environment it fits, from a checkpoint alone; and what a training is to begin with."""

from contextlib import closing, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError, about, unknown
from genelab.core.files import file_sha256
from genelab.core.registry import tasks
from genelab.core.run_files import RUN_FILE
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run.directory import Run
from genelab.experiment.setup import Overrides, Say, Setup, apply_run_changes, resolve
from genelab.rl import backends
from genelab.rl.backends.base import InferenceSetup, Policy
from genelab.rl.checkpoint import INFO_KEY, WarmStart, read_checkpoint, saved_checkpoints

BUNDLED, PREFIX = "bundled", "bundled:"
"""Wherever a checkpoint is named, ``bundled`` stands for the task's bundled one, ``bundled:<task>`` for another's."""


def setup_policy(
    task: str,
    path: Path,
    overrides: Overrides,
    *,
    num_envs: int,
    seed: int = 0,
    unused: dict[str, str] | None = None,
    say: Say = print,
) -> tuple[Setup, InferenceSetup, dict[str, Any]]:
    """Setup, play environment and policy of a checkpoint, with the changes it was trained with, and its origin."""
    setup, checkpoint = resolve_policy(task, path, overrides, unused=unused, say=say)
    setup.env_cfg.num_envs = num_envs
    env = ManagerBasedRlEnv(setup.env_cfg, seed=seed)
    return setup, InferenceSetup(env, load_policy(env, checkpoint)), checkpoint[INFO_KEY]


def load_policy(env: ManagerBasedRlEnv, checkpoint: dict[str, Any]) -> Policy:
    """The policy of a checkpoint, with its own normalisation statistics, for these worlds."""
    return backends.load_policy(env, backends.stored_agent_cfg(checkpoint[INFO_KEY]["agent"]), checkpoint)


def resolve_policy(
    task: str, path: Path, overrides: Overrides, *, unused: dict[str, str] | None = None, say: Say = print
) -> tuple[Setup, dict[str, Any]]:
    """The task's play configs with the changes a policy was trained with, and the checkpoint that holds it."""
    checkpoint = read_checkpoint(resolve_checkpoint(path, task), task)
    infos = checkpoint[INFO_KEY]
    if infos["backend"] not in backends.BACKENDS:
        raise UserError(f"'{path}' was made by backend '{infos['backend']}', which this version does not have")
    unread = {"agent": f"the networks come from '{path.name}'", **(unused or {})}
    setup = resolve(task, play=True, preset="reference", overrides=overrides, unused=unread, say=say)
    ours = {change.path for change in setup.changes}
    inherited = {p: v for p, v in infos["env_changes"].items() if p not in ours}
    with about(path):
        for change in apply_run_changes(setup, inherited):
            if change.old != change.new:
                say(f"from the run: {change}")
    return setup, checkpoint


def find_checkpoint(name: str | None, task: str, say: Say) -> Path:
    """A checkpoint by file, run directory or ``bundled[:<task>]``. None: the newest local, else the bundled one."""
    if name is not None:
        path = resolve_checkpoint(name, task)
        saved = saved_checkpoints(path) if (path / RUN_FILE).is_file() else [path]
        if not saved:
            raise UserError(f"the run '{path}' has no checkpoint yet")
        return saved[-1]
    local = _newest_checkpoint(task)
    chosen = local or bundled_checkpoint(task)
    if chosen is None:
        raise UserError(f"there is no trained policy of '{task}' under 'logs': train one, or name it with --checkpoint")
    say(f"checkpoint: {chosen} ({'the newest local one' if local else 'the bundled one'})")
    return chosen


def _newest_checkpoint(task: str) -> Path | None:
    """The last checkpoint of the newest local run of a task, if there is any."""
    found = []
    for directory in (path.parent for path in Path("logs").rglob(RUN_FILE)):
        with suppress(UserError):  # not ours, or broken: no reason to overlook the others
            if Run.open(directory).meta["task"] == task:
                found += saved_checkpoints(directory)[-1:]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def read_warm_start(path: Path, task: str) -> WarmStart:
    """A checkpoint to begin with, and what its policy sees: of another task, or of `task` with other observations."""
    checkpoint = read_checkpoint(resolve_checkpoint(path, task))
    infos = checkpoint[INFO_KEY]
    setup = resolve(infos["task"], play=True, preset="reference")
    apply_run_changes(setup, infos["env_changes"])
    setup.env_cfg.num_envs = 1
    with closing(ManagerBasedRlEnv(setup.env_cfg)) as source:
        return WarmStart(checkpoint, WarmStart.of(source))


def file_digest(checkpoint: Path, task: str) -> str:
    """sha256 of the file of a checkpoint that a training of `task` begins with."""
    return file_sha256(resolve_checkpoint(checkpoint, task))


def bundle_directory() -> Path:
    return Path(str(files("genelab"))) / "bundled"


def bundled_checkpoint(task: str) -> Path | None:
    """The bundled checkpoint of a task, or None if there is none."""
    return next((path for path in bundle_directory().glob("*.pt") if path.stem == task), None)


def is_bundled(name: str | Path) -> bool:
    """Whether a name of a checkpoint stands for a bundled one, rather than being a path."""
    return str(name) == BUNDLED or str(name).startswith(PREFIX)


def resolve_checkpoint(name: str | Path, task: str, relative_to: Path = Path()) -> Path:
    """A checkpoint for `task` by path, ``bundled`` or ``bundled:<task>``. Paths count from `relative_to`."""
    if task in tasks():
        tasks()[task].agent_cfg()  # an error if there is none: no policy acts in the task
    if is_bundled(name):
        task = task if str(name) == BUNDLED else str(name).removeprefix(PREFIX)
        if (path := bundled_checkpoint(task)) is None:
            raise unknown("bundled policy", task, (p.stem for p in bundle_directory().glob("*.pt")))
        return path
    return relative_to / name
