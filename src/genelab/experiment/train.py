"""Training: a new run, or the continuation of one."""

import shlex
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from genelab.core.config import digest, is_config, to_dict
from genelab.core.errors import Diverged, UserError
from genelab.core.overrides import Change, validate
from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.experiment import provenance, together
from genelab.experiment.inference import file_digest, is_bundled, read_warm_start
from genelab.experiment.run.directory import Run, new_directory
from genelab.experiment.run.lock import locked
from genelab.experiment.run.logs import check_logger, check_records, open_wandb
from genelab.experiment.run.reading import SOURCE
from genelab.experiment.setup import Overrides, Say, Setup, apply_typed, evaluation_cfg, resolve
from genelab.rl import backends
from genelab.rl.backends.base import Hooks, TrainResult
from genelab.rl.checkpoint import WarmStart
from genelab.rl.eval_callback import EvalCallback, EvalSettings
from genelab.viewer.native import NativeViewer

UNUSED_IN_TRAINING = {
    "env.simulation.steps": "training is as long as agent.max_iterations says (--max-iterations)",
    "env.camera": "training makes no pictures",
}


@dataclass(frozen=True)
class TrainRequest:
    """What the user asked to train."""

    task: str
    overrides: list[tuple[str, str]] = field(default_factory=list)
    preset: str = "auto"
    backend: str | None = None
    log_dir: Path | None = None
    checkpoint: Path | None = None
    command: str = ""
    evaluation: EvalSettings | None = None
    logger: str = "tensorboard"
    """Where metrics go besides metrics.jsonl: ``wandb`` is beside TensorBoard."""


def resolve_training(request: TrainRequest) -> Setup:
    """The configs of a request, with every mistake in it found."""
    task, preset, backend = request.task, request.preset, request.backend
    find(task).agent_cfg(backend)  # an error if there is none
    processes = together.started() or 1
    overrides = request.overrides + [("agent.rollout.learners", str(processes))] * (processes > 1)
    setup = resolve(task, preset=preset, backend=backend, overrides=overrides, unused=UNUSED_IN_TRAINING)
    setup.agent_cfg.check_samples(setup.env_cfg.num_envs)
    check_logger(request.logger)
    return setup


def train(request: TrainRequest, say: Say = print, workers: Any = None) -> tuple[Run, TrainResult]:
    """Start a new run and train it; `workers` is the kind that collects, if not processes of this machine."""
    setup = resolve_training(request)
    backend = backends.backend_of(setup.agent_cfg)
    backends.learner_class(setup.agent_cfg)  # an error if its library is missing
    if setup.agent_cfg.torch_threads > 0:
        torch.set_num_threads(setup.agent_cfg.torch_threads)
    together.gather(setup.env_cfg, setup.agent_cfg, shlex.split(request.command)[1:])
    for line in (f"preset: {setup.preset}", *(f"  {change}" for change in setup.preset_changes), *setup.changes):
        say(str(line))
    env = together.make_env(setup.env_cfg, setup.agent_cfg)
    warm_start = None if request.checkpoint is None else read_warm_start(request.checkpoint, request.task)
    directory = request.log_dir or new_directory(backend.name, request.task)
    with locked(directory):
        run = Run.create(directory, _describe(setup, backend.name, request), setup.env_cfg, setup.agent_cfg)
        count = setup.agent_cfg.rollout.workers
        say(f"worlds: {setup.env_cfg.num_envs} in {f'{count} workers' if count else 'this process'}")
        say(f"run: {directory}")
        try:
            return run, _train_in(run, env, setup.agent_cfg, warm_start, say, workers)
        except UserError:  # a warm start that does not fit, no display for a window, …
            run.discard()
            raise


def resume(
    task: str, directory: Path, overrides: Overrides, say: Say = print, workers: Any = None
) -> tuple[Run, TrainResult]:
    """Continue a run exactly where its last state was saved. Only its length may be changed."""
    run = Run.open(directory)  # an error if there is none, before anything is written
    torch.set_num_threads(run.meta["torch_threads"])
    words = [word for path, value in overrides for word in (f"--{path}", value)]
    together.gather(*_resumed(run, task, overrides)[:2], ["train", task, "--resume", str(directory), *words])
    with locked(directory):
        run = Run.open(directory)
        env_cfg, agent_cfg, changes = _resumed(run, task, overrides)
        for change in changes:
            say(str(change))
        state = run.load_state()
        iteration, length = state["checkpoint"]["iter"] if state else 0, agent_cfg.max_iterations
        check_records(directory, run.meta, iteration)
        if changes and length < iteration:  # whole rollouts may go a little beyond it
            raise UserError(f"the run is at {agent_cfg.unit} {iteration}, beyond agent.max_iterations {length}")
        say(f"run: {directory}, resumed at {agent_cfg.unit} {iteration} of {length}")
        env = together.make_env(env_cfg, agent_cfg)
        began_with = run.meta.get("warm_start")
        weights = None
        if began_with and not state:  # killed before its first save
            weights = read_warm_start(Path(began_with), task)
            if run.meta.get("warm_start_sha256") not in (None, file_digest(Path(began_with), task)):
                raise UserError(f"'{began_with}', which the run began with, has changed since: start a new run")
        run.keep_agent_config(agent_cfg)
        run.mark_running()
        return run, _train_in(run, env, agent_cfg, weights, say, workers)


def _resumed(run: Run, task: str, overrides: Overrides) -> tuple[ManagerBasedRlEnvCfg, Any, list[Change]]:
    """The configs of a run that goes on, with what is changed in them."""
    if run.meta["task"] != task:
        raise UserError(f"'{run.directory}' is a run of task '{run.meta['task']}', not of '{task}'")
    env_cfg, agent_cfg = run.configs()
    roots = {"env": env_cfg, "agent": agent_cfg}
    changes = apply_typed(roots, overrides)
    validate(roots)
    for change in changes:
        if change.old != change.new and change.path != "agent.max_iterations":
            remedy = "start a new run from its weights with --checkpoint"
            raise UserError(f"{change.path} cannot change in a resumed run, which continues exactly: {remedy}")
    return env_cfg, agent_cfg, changes


def _train_in(
    run: Run, env: ManagerBasedRlEnv, agent_cfg: Any, start: WarmStart | None, say: Say, workers: Any
) -> TrainResult:
    if workers is not None and agent_cfg.rollout.workers == 0:
        raise UserError("--launcher ray goes with --workers, whose shards it puts on the cluster, or with --seeds")
    with _stop_on_signal(run):
        status, viewer = "failed", None
        try:
            viewer = NativeViewer(env) if env.cfg.simulation.vis else None
            if run.meta.get("logger") == "wandb":
                run.tracker = open_wandb(run.directory, run.meta)
            evaluation = None
            if run.meta["evaluation"] is not None:  # on worlds of its own
                cfg = evaluation_cfg(run.meta["task"], run.meta["env_changes"], env.cfg.simulation)
                suffix = Path(backends.learner_class(agent_cfg).final_name).suffix
                evaluation = EvalCallback(run, cfg, EvalSettings(**run.meta["evaluation"]), env.num_envs, say, suffix)
            infos = {key: run.meta[key] for key in SOURCE}
            infos |= {"agent": to_dict(agent_cfg), "env_changes": run.meta["env_changes"]}
            sync = viewer.sync if viewer is not None else None
            hooks = Hooks(after_step=sync, after_iteration=evaluation, say=say, workers=workers)
            result = backends.train(env, agent_cfg, run, infos, hooks, start)
            status = "finished" if result.finished else "stopped"
            run.meta |= {"iteration": result.iteration, "weights_sha256": result.weights_sha256}
            return result
        except Diverged:
            status = "diverged"
            raise
        except OSError as error:
            raise run.write_failed(error) from error
        finally:
            if viewer is not None:
                viewer.close()
            env.close()
            run.close(status)


@contextmanager
def _stop_on_signal(run: Run) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal end the run after the present iteration; a second one ends it at once."""
    with ExitStack() as changed:

        def request_stop(number: int, frame: Any) -> None:
            run.stop_requested = True
            changed.close()  # puts the handlers of before back

        with suppress(ValueError):  # not in the main thread: signals are someone else's business
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # nohup: to outlive its terminal
                    changed.callback(signal.signal, name, signal.signal(name, request_stop))
        yield


def _describe(setup: Setup, backend: str, request: TrainRequest) -> dict[str, Any]:
    begin_with = request.checkpoint
    if begin_with is not None and not is_bundled(begin_with):  # a bundled one is where the package is
        begin_with = begin_with.resolve()
    return {
        "task": setup.spec.id,
        "backend": backend,
        "engine": setup.env_cfg.simulation.engine,
        "seed": setup.agent_cfg.seed,
        "preset": setup.preset,
        "command": request.command,
        "overrides": {c.path: to_dict(c.new) if is_config(c.new) else c.new for c in setup.changes},
        "env_changes": setup.env_changes(),
        "warm_start": None if begin_with is None else str(begin_with),
        "warm_start_sha256": None if begin_with is None else file_digest(begin_with, request.task),
        "evaluation": asdict(request.evaluation) if request.evaluation is not None else None,
        "logger": request.logger,
        "config_hash": digest([setup.env_cfg, setup.agent_cfg]),
        "torch_threads": torch.get_num_threads(),
        "started_at": provenance.now(),
        **provenance.stamp(),
        "machine": provenance.machine(),
    }
