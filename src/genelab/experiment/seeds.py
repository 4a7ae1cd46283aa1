"""The same training with several seeds, one process each."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from genelab.core.errors import RunStopped, UserError
from genelab.core.files import write_json
from genelab.core.stats import summarize
from genelab.experiment import provenance
from genelab.experiment.run import METRICS_FILE, RUN_FILE


def parse_seeds(text: str) -> list[int]:
    """``"1,2,3"`` as numbers, all different."""
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--seeds expects numbers with commas between them, got '{text}'") from None
    if len(set(seeds)) != len(seeds):
        raise UserError(f"--seeds names a seed twice: '{text}'")
    return seeds


def train_seeds(
    task: str,
    seeds: list[int],
    parallel: int,
    parent: Path | None,
    arguments: list[str],
    say: Callable[[str], None] = print,
) -> int:
    """Train every seed in ``<parent>/seed_<S>``, at most `parallel` at once, and summarise. Returns the exit code."""
    if parallel < 1:
        raise UserError(f"--parallel must be at least 1, not {parallel}")
    if parent is None:
        parent = Path("logs/multi-seed") / task / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    parent.mkdir(parents=True, exist_ok=True)
    say(f"runs: {parent}")
    threads = max(1, provenance.cores() // min(parallel, len(seeds)))
    environment = dict(os.environ)
    if parallel > 1:  # runs that fight for cores are slower than runs with fewer threads
        environment.setdefault("OMP_NUM_THREADS", str(threads))
        if "--env.simulation.threads" not in arguments:
            arguments = [*arguments, "--env.simulation.threads", str(threads)]
        say(f"threads per run: {threads}")
    waiting, running, failed = list(seeds), {}, []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop the children as Ctrl-C does
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                seed = waiting.pop(0)
                running[seed] = _start(task, seed, parent, arguments, environment)
                say(f"seed {seed}: started, log {_log(parent, seed)}")
            time.sleep(0.2)
            for seed, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[seed]
                if process.returncode != 0:
                    failed.append(seed)
                say(f"seed {seed}: {'done' if process.returncode == 0 else f'failed, see {_log(parent, seed)}'}")
    except KeyboardInterrupt:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
        raise RunStopped(f"stopped; each seed can be continued with --resume {parent}/seed_<S>") from None
    _summarise(task, parent, [seed for seed in seeds if seed not in failed], failed, say)
    return 1 if failed else 0


def _start(
    task: str, seed: int, parent: Path, arguments: list[str], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    directory = parent / f"seed_{seed}"
    command = [sys.executable, "-m", "genelab", "train", task, *arguments]
    command += ["--seed", str(seed), "--log-dir", str(directory)]
    with _log(parent, seed).open("wb") as log:
        # In a session of its own, so that Ctrl-C reaches it once, through `train_seeds`: twice would stop it unsaved.
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)


def _log(parent: Path, seed: int) -> Path:
    return parent / f"seed_{seed}.log"


def _summarise(task: str, parent: Path, done: list[int], failed: list[int], say: Callable[[str], None]) -> None:
    runs: dict[str, Any] = {str(seed): _result(parent / f"seed_{seed}") for seed in done}
    summary: dict[str, Any] = {"task": task, "seeds": done, "failed": failed, "runs": runs}
    returns = [run["return_mean"] for run in runs.values() if run["return_mean"] is not None]
    if returns:
        stats = summarize(returns)
        summary["return_mean"] = {"mean": stats.mean, "std": stats.std, "ci95": stats.ci95, "n": stats.n}
    write_json(parent / "summary.json", summary)
    say("seed  iterations  return_mean  wall clock")
    for seed, run in runs.items():
        value = "-" if run["return_mean"] is None else f"{run['return_mean']:.3f}"
        say(f"{seed:>4}  {run['iteration']:>10}  {value:>11}  {run['train_s']:>8.0f} s")
    if returns:
        stats = summary["return_mean"]
        say(f"mean {stats['mean']:.3f}, standard deviation {stats['std']:.3f}, 95 % interval ± {stats['ci95']:.3f}")
    say(f"summary: {parent / 'summary.json'}")


def _result(directory: Path) -> dict[str, Any]:
    meta = json.loads((directory / RUN_FILE).read_text())
    lines = [json.loads(line) for line in (directory / METRICS_FILE).read_text().splitlines()]
    return {
        "iteration": meta["iteration"],
        "return_mean": lines[-1].get("return_mean") if lines else None,
        "train_s": sum(line["collect_s"] + line["learn_s"] for line in lines),
        "weights_sha256": meta["weights_sha256"],
    }
