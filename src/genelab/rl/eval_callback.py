"""Evaluation during training, on worlds of its own: it changes nothing in the run it watches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genelab.core.files import write_json, write_text
from genelab.core.json_data import json_line, read_json, read_json_lines
from genelab.core.run_files import BEST_META_FILE, BEST_MODEL, EVALUATIONS_FILE
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.backends.base import Snapshot, TrainingRun
from genelab.rl.evaluator import evaluate, plan
from genelab.rl.loop import passed


@dataclass(frozen=True)
class EvalSettings:
    """When and how to evaluate."""

    every: int
    """Iterations between two evaluations, in the unit of ``max_iterations``."""
    episodes: int = 10
    num_envs: int | None = None
    """Worlds at most; None takes as many as training has."""
    seed: int = 0


class EvalCallback:
    """Evaluates every few iterations and keeps the best checkpoint. A failing evaluation does not stop the run."""

    def __init__(
        self,
        run: TrainingRun,
        env_cfg: ManagerBasedRlEnvCfg,
        settings: EvalSettings,
        training_envs: int,
        say: Callable[[str], None] = print,
        suffix: str = ".pt",
    ):
        self._run = run
        self._settings = settings
        self._say = say
        self._suffix = suffix
        self._protocol = plan(settings.episodes, settings.num_envs or training_envs)
        env_cfg.num_envs = self._protocol.num_envs
        self._env = ManagerBasedRlEnv(env_cfg, seed=settings.seed)
        self._lines: list[dict[str, Any]] | None = None

    def __call__(self, snapshot: Snapshot) -> None:
        if not passed(self._settings.every, snapshot.previous, snapshot.iteration):
            return
        try:
            policy = snapshot.policy(self._env.num_envs)
            result = evaluate(self._env, policy, self._protocol.episodes_per_env, seed=self._settings.seed)
        except Exception as error:  # whatever it is, it is no reason to lose the training
            self._say(f"evaluation at {snapshot.unit} {snapshot.iteration} failed: {type(error).__name__}: {error}")
            return
        record = {
            "iteration": snapshot.iteration,
            "steps": snapshot.steps,
            "optimiser_steps": snapshot.optimiser_steps,
            "num_episodes": result["num_episodes"],
            "seed": self._settings.seed,
            **{key: value for key, value in result["metrics"].items() if not isinstance(value, dict)},
        }
        self._append(record)
        value = record["return_mean"]
        best = self._best()
        improved = math.isfinite(value) and (best is None or value > best["return_mean"])
        mark = ", the best so far" if improved else ""
        self._say(f"evaluation at {snapshot.unit} {snapshot.iteration}: return_mean {value:.3f}{mark}")
        if improved:
            name = f"{BEST_MODEL}{self._suffix}"
            self._run.save_checkpoint(name, snapshot.checkpoint())
            write_json(self._run.directory / BEST_META_FILE, {"checkpoint": name, **record})

    def _append(self, record: dict[str, Any]) -> None:
        """Add a line; lines of iterations that a resumed run repeats are replaced."""
        path = self._run.directory / EVALUATIONS_FILE
        if self._lines is None:
            self._lines = [line for line in read_json_lines(path) if line["iteration"] < record["iteration"]]
        self._lines.append(record)
        write_text(path, "".join(map(json_line, self._lines)))

    def _best(self) -> dict[str, Any] | None:
        path = self._run.directory / BEST_META_FILE
        return read_json(path) if path.exists() else None
