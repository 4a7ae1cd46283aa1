"""Random overrides, trained for two iterations: what is accepted must train, and must be read.

    PYTHONPATH=src:tests python -m attacks.fuzz 300 1

Every trial draws one leaf of one task's configs and one value of its type: near its default, at the ends of its range,
or one that tends to break things (0, -1, nan, inf, 10^12). It is refused with a one-line `UserError`, or it trains (a
policy that diverged is a result, too), or it broke: another exception, or no end. `unread` says which leaves a training
never looks at although it accepts changes of them.
"""

import functools
import io
import math
import os
import random
import signal
import sys
import tempfile
import traceback
import types
import typing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Literal

from attacks import Trial
from genelab.core.config import alternatives, field_types, split
from genelab.core.errors import RunStopped, UserError
from genelab.core.overrides import configs, leaves, show
from genelab.core.ranges import Range
from genelab.core.registry import tasks
from genelab.experiment.train import TrainRequest, resolve_training, train

ODD_NUMBERS = (0, -1, 1, 2, 1e-12, 0.5, 1e6, 10**12, math.nan, math.inf)
TINY = {"env.num_envs": "4"}
TINY_TERRAIN = {"env.scene.terrain.rows": "2", "env.scene.terrain.border": "4"}
TINY_RSL_RL = {
    "agent.max_iterations": "2",
    "agent.num_steps_per_env": "4",
    "agent.actor.hidden_dims": "8",
    "agent.critic.hidden_dims": "8",
    "agent.algorithm.num_learning_epochs": "1",
    "agent.algorithm.num_mini_batches": "2",
}
TINY_ON_POLICY = {
    "agent.max_iterations": "32",
    "agent.hidden_dims": "8",
    "agent.on_policy.num_steps": "4",
    "agent.on_policy.num_epochs": "1",
    "agent.on_policy.num_mini_batches": "2",
}
TINY_OFF_POLICY = {
    "agent.max_iterations": "48",
    "agent.hidden_dims": "8",
    "agent.off_policy.learning_starts": "24",
    "agent.off_policy.batch_size": "8",
    "agent.off_policy.buffer_size": "400",
    "agent.off_policy.gradient_steps": "2",
    "env.episode_length_s": "0.2",  # hindsight learns from whole episodes
}
LARGEST_SIZE = 64
"""Sizes and counts that are accepted are at most so large here, for the sake of memory and time."""
NOT_TRAINED = ("env.simulation.vis", "env.simulation.gpu", "env.simulation.engine", "agent.max_iterations")
"""Leaves that need a window, a device or another engine, or that say how long a trial is."""
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where runs are written, if there is such a place: a disk takes longer than the training."""
TIME_LIMIT = 60
"""Seconds until a trial counts as hanging."""


def run(count: int, seed: int) -> Iterator[Trial]:
    """`count` accepted values, trained, and what was refused on the way."""
    rng, accepted = random.Random(seed), 0
    found = {key: list(leaves(_configs(*key))) for key in agents()}
    while accepted < count:
        key = rng.choice(sorted(found))
        leaf = rng.choice(found[key])
        value = _value(leaf.type, leaf.value, rng)
        if leaf.path in NOT_TRAINED or value == leaf.value:
            continue
        trial = attempt(*key, leaf.path, show(value))
        accepted += trial.outcome != "refused"
        yield trial


def agents() -> list[tuple[str, str]]:
    """Every task with every RL library that it has an agent for."""
    return sorted((task_id, backend) for task_id, spec in tasks().items() for backend in spec.agents)


def attempt(task_id: str, backend: str, path: str, value: str) -> Trial:
    """Train a task with one override at a tiny size."""
    tiny = [(p, v) for p, v in _tiny(task_id, backend).items() if p != path]
    outcome, said = "passed", ""
    try:
        with _time_limit():
            _train(task_id, backend, [*tiny, (path, value)])
    except UserError as error:
        outcome, said = "broke" if "\n" in str(error) else "refused", str(error)
    except RunStopped as error:  # the policy diverged
        said = str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome, said = "broke", f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return Trial(f"train {task_id} --backend {backend} --{path} {value}", outcome, said)


def unread(task_id: str, backend: str) -> set[str]:
    """Paths that a training of a task accepts changes of and never reads."""
    with recorded_reads() as reads:
        _train(task_id, backend, list(_tiny(task_id, backend).items()))
    objects = {id(config): config for config, _ in reads.values()}
    roots = _configs(task_id, backend)
    read = {
        f"{path}.{name}"
        for root, start in roots.items()
        for config in objects.values()
        if type(config) is type(start)
        for path, part in configs(config, root)
        for name in field_types(type(part))
        if (id(part), name) in reads
    }
    never = [
        leaf
        for path, part in configs(roots)
        for name in field_types(type(part))
        if f"{path}.{name}" not in read
        for leaf in leaves(getattr(part, name), f"{path}.{name}")
    ]
    return {leaf.path for leaf in never if _accepted(task_id, backend, leaf.path)}


@contextmanager
def recorded_reads() -> Iterator[dict[tuple[int, str], tuple[Any, str]]]:
    """Configs and names of their fields that are read meanwhile, other than to check, copy or store them."""
    reads: dict[tuple[int, str], tuple[Any, str]] = {}
    plain = object.__getattribute__
    keepers = ("genelab.core.", "dataclasses", "copy", __name__)

    def record(self: Any, name: str) -> Any:
        caller = sys._getframe(1)
        keeps = caller.f_globals.get("__name__", "").startswith(keepers)
        if not keeps and caller.f_code.co_name not in ("validate", "unused_fields", "__eq__", "__repr__"):
            reads[id(self), name] = (self, name)  # with the object, so that its id stays its own
        return plain(self, name)

    classes = {type(config) for key in agents() for _, config in configs(_configs(*key))}
    for cls in classes:
        cls.__getattribute__ = record  # type: ignore[method-assign]
    try:
        yield reads
    finally:
        for cls in classes:
            del cls.__getattribute__


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {TIME_LIMIT} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIME_LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _train(task_id: str, backend: str, overrides: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory, redirect_stdout(io.StringIO()):
        request = TrainRequest(task_id, overrides, backend=backend, log_dir=Path(directory) / "run")
        train(request, say=lambda _: None)


def _accepted(task_id: str, backend: str, path: str) -> bool:
    """Whether a training accepts another value for a leaf than the one it has."""
    leaf = next(leaf for leaf in leaves(_configs(task_id, backend)) if leaf.path == path)
    for seed in range(20):
        value = _value(leaf.type, leaf.value, random.Random(seed))
        try:
            resolve_training(TrainRequest(task_id, [(path, show(value))], backend=backend))
        except UserError:
            continue
        if value != leaf.value:
            return True
    return False


def _configs(task_id: str, backend: str) -> dict[str, Any]:
    return resolve_training(TrainRequest(task_id, backend=backend)).roots


@functools.cache
def _tiny(task_id: str, backend: str) -> dict[str, str]:
    roots = _configs(task_id, backend)
    terrain = {} if roots["env"].scene.terrain is None else TINY_TERRAIN
    if backend == "rsl_rl":
        return TINY | terrain | TINY_RSL_RL
    return TINY | terrain | (TINY_ON_POLICY if roots["agent"].is_on_policy else TINY_OFF_POLICY)


def _value(declared: Any, default: Any, rng: random.Random) -> Any:
    """A value of a declared type; now and then one that is out of its range."""
    plain, rules = split(declared)
    options = alternatives(plain)
    if len(options) > 1:
        return _value(rng.choice(options), default, rng)
    origin, items = typing.get_origin(plain), typing.get_args(plain)
    if origin is Literal:
        return rng.choice(items)
    if origin is tuple:
        known = default if isinstance(default, tuple) else ()
        count = rng.choice((0, 1, len(known), len(known) + 1)) if items[-1] is Ellipsis else len(items)
        types_ = (items[0],) * count if items[-1] is Ellipsis else items
        return tuple(_value(t, known[i] if i < len(known) else None, rng) for i, t in enumerate(types_))
    if plain is bool:
        return rng.random() < 0.5
    if plain in (int, float):
        return _number(plain, default, next((rule for rule in rules if isinstance(rule, Range)), Range()), rng)
    if plain is types.NoneType:
        return None
    return default if isinstance(default, str) and rng.random() < 0.5 else "nope"


def _number(kind: type, default: Any, rule: Range, rng: random.Random) -> Any:
    known = default if isinstance(default, int | float) else 1
    near = known * 10 ** rng.uniform(-1.0, 1.0) if known else rng.uniform(-1.0, 1.0)
    value = rng.choice((near, near, rng.choice(ODD_NUMBERS), rng.choice(ODD_NUMBERS), rule.low, rule.high))
    if kind is float:
        return float(value)
    whole = int(value) if math.isfinite(value) else 0
    return min(whole, LARGEST_SIZE) if rule.low <= whole <= rule.high else whole


if __name__ == "__main__":
    outcomes = []
    for trial in run(int(sys.argv[1]), int(sys.argv[2])):
        print(trial, flush=True)
        outcomes.append(trial)
    print(Counter(trial.outcome for trial in outcomes))
    sys.exit(any(trial.outcome == "broke" for trial in outcomes))
