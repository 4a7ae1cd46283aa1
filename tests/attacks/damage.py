"""Damage to files: bits flipped, parts zeroed, ends cut off. Reading must refuse it, or give what was written."""

import hashlib
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attacks import Trial
from genelab.cli.main import run as genelab
from genelab.core.errors import RunStopped, UserError
from genelab.core.files import read_json
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.run.directory import Run
from genelab.experiment.run.reading import load_entries
from genelab.experiment.setup import resolve
from genelab.rl.checkpoint import read_checkpoint
from genelab.rl.demos import read_demos, record_demos, write_demos
from genelab.rl.evaluator import RandomPolicy

TASK = "GeneLab-Inverted-Pendulum-v0"
WORLDS = 4


@dataclass(frozen=True)
class Victim:
    """A file, and what becomes of it: `read` gets the directory that holds everything."""

    file: str
    read: Callable[[Path], Any]
    weight: float = 1.0
    """How often it is damaged, compared with the others."""


def run(count: int, seed: int) -> Iterator[Trial]:
    """Damage a file, read it, restore it."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        victims = make_victims(home)
        intact = {victim: fingerprint(victim.read(home)) for victim in victims}
        draw = random.Random(seed)
        for _ in range(count):
            victim = draw.choices(victims, [v.weight for v in victims])[0]
            path = home / victim.file
            content = path.read_bytes()
            what, damaged = damage(content, draw)
            path.write_bytes(damaged)
            yield _attempt(victim, home, f"{victim.file} ({victim.read.__name__}): {what}", intact[victim])
            path.write_bytes(content)


def _attempt(victim: Victim, home: Path, what: str, intact: str) -> Trial:
    try:
        same = fingerprint(victim.read(home)) == intact
    except (UserError, RunStopped, SystemExit) as error:
        said = str(error)
        return Trial(what, "broke" if "\n" in said or "Traceback" in said else "refused", said)
    except Exception as error:
        return Trial(what, "broke", f"{type(error).__name__}: {error}")
    return Trial(what, "passed") if same else Trial(what, "broke", "read as if it were intact, with another result")


def damage(content: bytes, draw: random.Random) -> tuple[str, bytes]:
    """What was done to the content, and what is left of it."""
    data = bytearray(content)
    kind = draw.choice(
        ["flip a bit", "flip a bit", "flip 8 bits", "zero 64 bytes", "swap two bytes", "cut off", "append"]
    )
    at = draw.randrange(len(data))
    if kind == "flip a bit":
        data[at] ^= 1 << draw.randrange(8)
    elif kind == "flip 8 bits":
        for _ in range(8):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "zero 64 bytes":
        data[at : at + 64] = bytes(len(data[at : at + 64]))
    elif kind == "swap two bytes":
        other = draw.randrange(len(data))
        data[at], data[other] = data[other], data[at]
    elif kind == "cut off":
        del data[at:]
    else:
        data += draw.randbytes(64)
    return f"{kind} at {at} of {len(content)}", bytes(data)


def fingerprint(value: Any) -> str:
    """Equal for equal data: of plain values, tensors, arrays and configs."""
    sha = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, torch.Tensor):
            part = part.detach().cpu().numpy()
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype}{part.shape}".encode() + part.tobytes())
        elif isinstance(part, dict):
            for key in sorted(part, key=repr):
                add(key)
                add(part[key])
        elif isinstance(part, list | tuple):
            sha.update(f"{len(part)}[".encode())
            for item in part:
                add(item)
        else:
            sha.update(repr(part).encode())

    add(value)
    return sha.hexdigest()


# What is read, and how


def make_victims(home: Path) -> list[Victim]:
    """Small files of every kind."""
    tiny = ("--num-envs", WORLDS, "--headless")
    command(
        "train", TASK, *tiny, "--max-iterations", 2, "--eval-every", 1, "--eval-episodes", 2, "--log-dir", home / "run"
    )
    command("train", TASK, *tiny, "--backend", "sb3", "--agent.on_policy.num_steps", 8, "--max-iterations", 32,
            "--agent.hidden_dims", "8,8", "--log-dir", home / "sb3")  # fmt: skip
    command("eval", TASK, home / "run/model_final.pt", "--episodes", 2, "--out", home / "run/eval.json")
    command("export", TASK, f"bundled:{TASK}", "--format", "onnx", "--out", home / "policy.onnx")
    env = ManagerBasedRlEnv(resolve(TASK, overrides=[("env.num_envs", str(WORLDS))]).env_cfg, seed=0)
    write_demos(home / "demos.npz", record_demos(TASK, env, RandomPolicy(env, 0), 8, 0))
    records = ("run.json", "params/env.json", "params/agent.json", "metrics.jsonl", "evaluations.jsonl")
    return [
        Victim("run/model_final.pt", partial_named(checkpoint, "run/model_final.pt"), 3),
        Victim("run/best_model.pt", partial_named(checkpoint, "run/best_model.pt"), 2),
        Victim("sb3/model.zip", partial_named(checkpoint, "sb3/model.zip"), 3),
        Victim("run/state/resume.pt", state, 3),
        *(Victim(f"run/{name}", resumed, 0.3) for name in (*records, "best_model_meta.json", "state/resume.pt")),
        *(Victim(f"run/{name}", records_of_run, 2) for name in records),
        Victim("run/eval.json", evaluation, 2),
        Victim("demos.npz", partial_named(demos, env), 3),
        *(Victim(f"policy.onnx{suffix}", deployed) for suffix in ("", ".metadata.json", ".scene.xml")),
    ]


def partial_named(function: Callable[..., Any], argument: Any) -> Callable[[Path], Any]:
    made = partial(function, argument)
    made.__name__ = function.__name__  # pyright: ignore[reportAttributeAccessIssue]
    return made


def command(*words: object) -> None:
    """A command that must not fail. Its error, if any, is raised as one."""
    error = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(error):
        code = genelab([str(word) for word in words])
    if code != 0:
        raise UserError(error.getvalue().strip())


def checkpoint(file: str, home: Path) -> Any:
    return read_checkpoint(home / file, TASK)


def state(home: Path) -> Any:
    return Run.open(home / "run").load_state()


def demos(env: ManagerBasedRlEnv, home: Path) -> Any:
    return read_demos(home / "demos.npz", TASK, env, ("policy",))


def evaluation(home: Path) -> Any:
    return read_json(home / "run/eval.json")


def records_of_run(home: Path) -> Any:
    """As a report reads them; what it leaves out, it notes."""
    (entry,) = load_entries([home / "run"])
    if entry.notes:
        raise UserError(entry.notes[0])
    (found,) = entry.runs
    return [found.meta, found.rows, found.evaluations, found.config, Run.open(home / "run").configs()]


def resumed(home: Path) -> Any:
    """One more iteration; the weights and all that was recorded."""
    target = home / "resumed"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(home / "run", target)
    command("train", TASK, "--resume", target, "--max-iterations", 3)
    (entry,) = load_entries([target])
    (found,) = entry.runs
    history = [{k: v for k, v in row.items() if not k.endswith("_s")} for row in found.rows]
    return [found.meta["weights_sha256"], history, found.evaluations, found.config, entry.notes]


def deployed(home: Path) -> Any:
    """As the example that needs no genelab reads them."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples/deploy"))
    try:
        import mujoco_onnx  # pyright: ignore[reportMissingImports]
    finally:
        sys.path.pop(0)
    world, _, _ = mujoco_onnx.load(home / "policy.onnx", np.random.default_rng(0))
    return [world.metadata, hashlib.sha256((home / "policy.onnx").read_bytes()).hexdigest()]
