"""Evaluation during training, on worlds of its own: it changes nothing in the run it watches."""

import math
from collections.abc import Callable

from genelab.core.files import json_line, read_json, write_json, write_text
from genelab.core.run_files import BEST_META_FILE, BEST_MODEL, EVALUATIONS_FILE, read_iterations
from genelab.core.stored_config import stored
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.rl.backends.base import TrainingRun
from genelab.rl.eval_settings import EvalSettings
from genelab.rl.evaluator import evaluate, plan
from genelab.rl.loop import Learner, passed


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
        self._run, self._settings, self._say, self._suffix = run, settings, say, suffix
        self._protocol = plan(settings.episodes, settings.num_envs or training_envs)
        env_cfg.num_envs = self._protocol.num_envs
        self._env = ManagerBasedRlEnv(env_cfg, seed=settings.seed)
        directory = run.directory
        self._lines = read_iterations(directory / EVALUATIONS_FILE)
        best = directory / BEST_META_FILE
        self._best = stored(read_json(best), "return_mean", float, f"'{best}'") if best.exists() else -math.inf

    def __call__(self, learner: Learner) -> None:
        if not passed(self._settings.every, learner.previous, learner.iteration):
            return
        try:
            policy = learner.policy(self._env.num_envs)
            result = evaluate(self._env, policy, self._protocol.episodes_per_env, seed=self._settings.seed)
        except Exception as error:  # whatever it is, it is no reason to lose the training
            self._say(f"evaluation at {learner.unit} {learner.iteration} failed: {type(error).__name__}: {error}")
            return
        record = {
            "iteration": learner.iteration,
            "steps": learner.steps,
            "optimiser_steps": learner.optimiser_steps,
            "num_episodes": result["num_episodes"],
            "seed": self._settings.seed,
            **{key: value for key, value in result["metrics"].items() if not isinstance(value, dict)},
        }
        # Lines of iterations that a resumed run repeats are replaced.
        self._lines = [line for line in self._lines if line["iteration"] < learner.iteration] + [record]
        write_text(self._run.directory / EVALUATIONS_FILE, "".join(map(json_line, self._lines)))
        value = record["return_mean"]
        improved = math.isfinite(value) and value > self._best
        mark = ", the best so far" if improved else ""
        self._say(f"evaluation at {learner.unit} {learner.iteration}: return_mean {value:.3f}{mark}")
        if improved:
            self._best = value
            name = f"{BEST_MODEL}{self._suffix}"
            self._run.save_checkpoint(name, learner.checkpoint())
            write_json(self._run.directory / BEST_META_FILE, {"checkpoint": name, **record})
