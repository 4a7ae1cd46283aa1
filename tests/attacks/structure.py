"""Files of wrong structure: each is valid in its format, and wrong in one place of what it holds.

A small run of every backend is trained once. Each attempt copies one, changes one node of one of its files (another
type, nothing, a list for a record, a tensor of another shape, …), and does with the file what a user would. It must be
refused in one line, or not matter: what a command finds in tensors must be what it finds without the change.
"""

import atexit
import contextlib
import io
import json
import math
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attacks import Trial
from genelab.cli.main import run as genelab
from genelab.core.files import json_line, read_json, read_json_lines, write_json, write_text
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.setup import resolve
from genelab.rl.demos import record_demos, write_demos
from genelab.rl.evaluator import RandomPolicy

TASK = "GeneLab-Inverted-Pendulum-v0"
LIMIT_S = 60
"""What takes longer hangs."""

SMALL = ("--env.num-envs", "4", "--env.simulation.threads", "1")
BACKENDS: dict[str, tuple[str, ...]] = {
    "rsl_rl": ("--agent.actor.hidden-dims", "8", "--agent.critic.hidden-dims", "8", "--agent.num-steps-per-env", "8"),
    "skrl": ("--agent.hidden-dims", "8", "--agent.algorithm", "SAC", "--agent.off-policy.buffer-size", "200"),
    "sb3": ("--agent.hidden-dims", "8", "--agent.algorithm", "SAC", "--agent.off-policy.buffer-size", "200"),
}
ITERATIONS = {"rsl_rl": (2, 3), "skrl": (64, 96), "sb3": (64, 96)}
"""How long a run is, and how long it becomes by a resume."""


def train(backend: str, directory: str, *more: str) -> tuple[str, ...]:
    """The command that trains a small run."""
    short = () if backend == "rsl_rl" else ("--agent.off-policy.learning-starts", "16")
    length = ("--max-iterations", str(ITERATIONS[backend][0]))
    place = ("--backend", backend, "--log-dir", directory)
    return ("train", TASK, *place, *SMALL, *BACKENDS[backend], *short, *length, *more)


@dataclass(frozen=True)
class Use:
    """What a user does with a file, and what it tells. ``{dir}`` stands for the copy of the run."""

    command: Callable[[str], tuple[str, ...]]
    """The command for a backend."""
    result: Callable[[Path], Any] = lambda directory: None
    """What the command found."""


def evaluation(*places: str) -> Callable[[Path], Any]:
    def read(directory: Path) -> Any:
        data = json.loads((directory / "out.json").read_text())
        for place in places:
            data = data[place]
        return data

    return read


def weights(name: str = "") -> Callable[[Path], Any]:
    return lambda directory: json.loads((directory / name / "run.json").read_text())["weights_sha256"]


def checkpoint(backend: str) -> str:
    return "{dir}/model.zip" if backend == "sb3" else "{dir}/model_final.pt"


SHORT = ("--episodes", "2", "--num-envs", "2")
OUT = ("--out", "{dir}/out.json")
EVAL = Use(lambda b: ("eval", TASK, checkpoint(b), *SHORT, "--max-steps", "20", *OUT), evaluation("metrics"))
PLAY = Use(lambda b: ("play", TASK, "--checkpoint", checkpoint(b), "--headless", "--max-steps", "3"))
EXPORT = Use(
    lambda b: ("export", TASK, checkpoint(b), "--out", "{dir}/policy.pt"),
    lambda directory: json.loads((directory / "policy.pt.metadata.json").read_text())["golden"],
)
BEGIN = Use(lambda b: train(b, "{dir}/new", "--checkpoint", checkpoint(b)), weights("new"))
RESUME = Use(lambda b: ("train", TASK, "--resume", "{dir}", "--max-iterations", str(ITERATIONS[b][1])), weights())
REPORT = Use(lambda b: ("report", "{dir}", "--out", "{dir}/page.html"))
SUMMARY = Use(lambda b: ("summary", "{dir}/seeds"))
SUITE = ("--suite", "{dir}/suite.json", "--reference", "{dir}/reference.json", "--tolerance", "9")
GATE = Use(lambda b: ("benchmark", *SUITE, *OUT))
DEMOS = Use(lambda b: train(b, "{dir}/new", "--agent.demo-path", "{dir}/demos.npz"), weights("new"))


def checkpoint_file(backend: str) -> str:
    return checkpoint(backend).removeprefix("{dir}/")


TARGETS: list[tuple[str, str, Use]] = [
    *((b, checkpoint_file(b), use) for b in BACKENDS for use in (EVAL, PLAY, EXPORT, BEGIN)),
    *((b, "state/resume.pt", RESUME) for b in BACKENDS for _ in range(4)),
    *((b, name, RESUME) for b in BACKENDS for name in ("run.json", "params/env.json", "params/agent.json")),
    *(("rsl_rl", name, RESUME) for name in ("metrics.jsonl", "evaluations.jsonl", "best_model_meta.json")),
    *(
        ("rsl_rl", name, REPORT)
        for name in ("run.json", "metrics.jsonl", "evaluations.jsonl", "eval.json", "params/env.json", "summary.json")
    ),
    *(("rsl_rl", f"seeds/seed_1/{name}", SUMMARY) for name in ("run.json", "metrics.jsonl", "evaluations.jsonl")),
    *(("rsl_rl", name, GATE) for name in ("suite.json", "reference.json", "model_final.pt")),
    *(("sb3", "demos.npz", DEMOS) for _ in range(3)),
]
"""A run, a file of it, and what is done with it."""


@cache
def originals() -> Path:
    """A run of every backend with everything that belongs to one, made once."""
    home = Path(tempfile.mkdtemp(prefix="genelab-structure-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    env = ManagerBasedRlEnv(resolve(TASK, overrides=[("env.num_envs", "4")]).env_cfg)
    demos = record_demos(TASK, env, RandomPolicy(env, 0), 20, 0)
    env.close()
    for backend in BACKENDS:
        directory = home / backend
        demonstrated = ("--agent.demo-path", f"{home}/demos.npz") if backend == "sb3" else ()
        write_demos(home / "demos.npz", demos)
        evaluated = ("--eval-every", "1", "--eval-episodes", "2") if backend == "rsl_rl" else ()
        must(*train(backend, str(directory), *demonstrated, *evaluated))
        must("eval", TASK, f"{directory}/{checkpoint_file(backend)}", *SHORT, "--out", f"{directory}/eval.json")
        write_demos(directory / "demos.npz", demos)
        write_json(
            directory / "suite.json",
            [{"task": TASK, "checkpoint": checkpoint_file(backend), "episodes": 2, "num_envs": 2, "seed": 0}],
        )
        must("benchmark", "--suite", f"{directory}/suite.json", "--out", f"{directory}/reference.json")
    for seed in (1, 2):
        shutil.copytree(
            home / "rsl_rl", home / "rsl_rl" / "seeds" / f"seed_{seed}", ignore=shutil.ignore_patterns("seeds")
        )
    must("summary", f"{home}/rsl_rl/seeds")
    shutil.copy(home / "rsl_rl/seeds/summary.json", home / "rsl_rl/summary.json")
    return home


def must(*words: str) -> None:
    code, said = call(*words)
    assert code == 0, said


def run(count: int, seed: int) -> Iterator[Trial]:
    """Attempts on every kind of file in turn."""
    listen()
    random = Random(seed)
    order = random.sample(TARGETS, len(TARGETS))
    for number in range(count):
        yield attempt(*order[number % len(order)], random)


def attempt(backend: str, file: str, use: Use, random: Random) -> Trial:
    """One change of one file, and what comes of it."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        shutil.copytree(originals() / backend, directory)
        what = f"{backend}/{file}: {change_file(directory / file, random)}; {use.command(backend)[0]}"
        executed.clear()
        try:
            code, said = call(*(word.format(dir=directory) for word in use.command(backend)))
        except (Exception, Hang) as error:
            return Trial(what, "broke", f"{type(error).__name__}: {error} {place_of(error)}")
        if executed:
            return Trial(what, "broke", f"it ran {executed[0]}")
        if code != 0:
            lines = said.strip().splitlines()
            return Trial(what, "refused" if len(lines) == 1 else "broke", said.strip().replace(folder, ""))
        tensors = file.endswith((".pt", ".zip", ".npz"))
        if tensors and not same(use.result(directory), expected(backend, use)):
            return Trial(what, "broke", "accepted, with another result")
        return Trial(what, "passed")


@cache
def expected(backend: str, use: Use) -> Any:
    """What a command finds with the files as they are."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "run"
        shutil.copytree(originals() / backend, directory)
        must(*(word.format(dir=directory) for word in use.command(backend)))
        return use.result(directory)


def same(a: Any, b: Any) -> bool:
    return json.dumps(a) == json.dumps(b)


class Hang(BaseException):
    """A command that does not end."""


def call(*words: str) -> tuple[int, str]:
    """Exit code and standard error of a command in this process."""

    def too_long(number: int, frame: Any) -> None:
        raise Hang(f"longer than {LIMIT_S} s")

    threads, error = torch.get_num_threads(), io.StringIO()
    previous = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = genelab(list(words))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        torch.set_num_threads(threads)
    return code, error.getvalue()


def place_of(error: BaseException) -> str:
    """The last lines of the project that an exception came through."""
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "genelab" in code.co_filename:
            places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"({' > '.join(places[-4:])})"


executed: list[str] = []
"""What was run since the list was last emptied."""


@cache
def listen() -> None:
    """Write down every program that this process starts, but for git, which tells the commit."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.system", "os.exec", "os.posix_spawn") or (
            event == "subprocess.Popen" and Path(str(arguments[0])).name != "git"
        ):
            executed.append(f"{event} {arguments[0]}")

    sys.addaudithook(hear)


def change_file(path: Path, random: Random) -> str:
    """Change one node of what a file holds. Returns what was done."""
    data = read(path)
    parents: list[tuple[Any, Any]] = []
    node = data
    while isinstance(node, dict | list) and len(node) and (not parents or random.random() < 0.85):
        key = random.choice(list(node)) if isinstance(node, dict) else random.randrange(len(node))
        parents.append((node, key))
        node = node[key]
    where = "/".join(str(key) for _, key in parents)
    if random.random() < 0.03 or not parents:
        data, done = random.choice(ODD), "everything replaced"
    else:
        parent, key = parents[-1]
        done = f"{change_node(parent, key, random)} at {where}"
    write(path, data)
    return done


ODD: list[Any] = [
    None, True, -1, 0, 7, 2**31, 10**400, 0.5, 1e308, math.nan, -math.inf, "", "text", "os:system", "a\nb", "\ud800",
    [], {}, [[1]], [None], {"class": "os:system"}, {"class": "genelab.rl.cfg:RslRlPpoCfg"}, {"": {"": []}},
]  # fmt: skip
"""What may stand anywhere in JSON."""


def change_node(parent: Any, key: Any, random: Random) -> str:
    value = parent[key]
    kinds: list[tuple[str, Callable[[], Any]]] = [
        ("wrapped in a list", lambda: [value]),
        ("wrapped in a record", lambda: {"x": value}),
        *((f"replaced by {str(odd)[:20]!r}", lambda odd=odd: odd) for odd in random.sample(ODD, 3)),
    ]
    if isinstance(value, Tensor):
        kinds = [*kinds, *tensor_changes(value)]
    elif isinstance(value, np.ndarray):
        kinds = array_changes(value)
    elif isinstance(value, dict):
        kinds += [
            ("made a list", lambda: list(value.values())),
            ("emptied", dict),
            ("added to", lambda: {**value, "x": 1}),
        ]
    elif isinstance(value, list):
        kinds += [
            ("made a record", lambda: dict(enumerate(value))),
            ("emptied", list),
            ("doubled", lambda: value + value),
        ]
    name, make = random.choice([("removed", None), ("renamed", None), *kinds])
    if make is not None:
        parent[key] = make()
    elif isinstance(parent, dict):
        del parent[key]
        if name == "renamed":
            parent[f"{key}_"] = value
    else:
        name = "removed"
        del parent[key]
    return name


def tensor_changes(value: Tensor) -> list[tuple[str, Callable[[], Any]]]:
    """Another shape, another type, or no tensor."""
    return [
        ("flattened", lambda: value.reshape(-1) if value.ndim != 1 else value.reshape(1, -1)),
        ("cut to one value", lambda: value.reshape(-1)[:1].clone()),
        ("emptied", lambda: value.new_zeros(0)),
        ("doubled", lambda: torch.cat([value.reshape(1, *value.shape)] * 2)),
        ("made whole numbers", lambda: value.to(torch.int32)),
        ("made complex", lambda: value.to(torch.complex64)),
        ("made bool", lambda: value.bool()),
        ("made a number", lambda: 0.5),
        ("made a list", lambda: value.tolist()),
        ("made sparse", lambda: value.to_sparse()),
    ]


def array_changes(value: np.ndarray) -> list[tuple[str, Callable[[], Any]]]:
    return [
        ("flattened", lambda: value.reshape(-1)),
        ("emptied", lambda: value[:0] if value.ndim else np.zeros(0)),
        ("doubled", lambda: np.stack([value, value])),
        ("made whole numbers", lambda: np.ones(value.shape, np.int64)),
        ("made complex", lambda: np.ones(value.shape, np.complex64)),
        ("made text", lambda: np.full(value.shape, "x")),
        ("made a record", lambda: np.zeros(value.shape, [("a", np.float32)])),
        ("made objects", lambda: np.full(value.shape, None, object)),
        ("made nan", lambda: np.full(value.shape, np.nan, np.float32)),
    ]


def read(path: Path) -> Any:
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return dict(archive)
    if path.suffix in (".pt", ".zip"):
        return torch.load(path, weights_only=True)
    return read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)


def write(path: Path, data: Any) -> None:
    if path.suffix == ".npz":
        np.savez(path, **data) if isinstance(data, dict) else np.savez(path, data)
    elif path.suffix in (".pt", ".zip"):
        torch.save(data, path)
    elif path.suffix == ".jsonl":
        lines = data if isinstance(data, list) else [data]
        write_text(
            path, "".join(json_line(line) if isinstance(line, dict) else json.dumps(line) + "\n" for line in lines)
        )
    else:
        write_json(path, data)
