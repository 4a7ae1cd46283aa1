"""Evaluation of a checkpoint, written down with everything needed to repeat it."""

from pathlib import Path
from typing import Any

from genelab.core.config import digest
from genelab.core.files import prepare_output, write_json, write_result
from genelab.experiment import provenance
from genelab.experiment.console import progress
from genelab.experiment.inference import setup_policy
from genelab.experiment.setup import Overrides, Say
from genelab.rl.evaluator import evaluate, plan

UNUSED_IN_EVAL = {
    "env.num_envs": "an evaluation takes its number of worlds from --num-envs and --episodes",
    "env.simulation.steps": "an evaluation is as long as its episodes (--max-steps bounds it)",
    "env.simulation.vis": "an evaluation shows no window; use play",
}


def run_evaluation(
    task: str,
    checkpoint: Path,
    overrides: Overrides = (),
    *,
    num_envs: int = 64,
    episodes: int = 100,
    seed: int = 0,
    deterministic: bool = True,
    noise: bool = True,
    max_steps: int | None = None,
    out: Path | None = None,
    say: Say = print,
) -> dict[str, Any]:
    """Evaluate and, if `out` says where, write the result."""
    protocol = plan(episodes, num_envs)
    prepare_output(out)
    if not noise:
        overrides = [*overrides, ("env.observations.policy.noise", "false")]
    setup, inference, source = setup_policy(
        task, checkpoint, overrides, seed=seed, num_envs=protocol.num_envs, unused=UNUSED_IN_EVAL, say=say
    )
    with progress("evaluation", protocol.episodes, "episode") as row:
        measured = evaluate(
            inference.env,
            inference.policy,
            protocol.episodes_per_env,
            seed=seed,
            deterministic=deterministic,
            max_steps=max_steps,
            watch=lambda ended, mean: row.update(ended, f"return {mean:.2f}"),
        )
    inference.env.close()
    record = {
        "task": task,
        "checkpoint": str(checkpoint),
        **measured,
        "seed": seed,
        "deterministic": deterministic,
        "noise": setup.env_cfg.observations["policy"].noise,
        "num_envs": protocol.num_envs,
        "episodes_per_env": protocol.episodes_per_env,
        "evaluated_at": provenance.now(),
        "engine": setup.env_cfg.simulation.engine,
        "config_hash": digest(setup.env_cfg),
        **provenance.stamp(),
        "trained": {key: source.get(key) for key in ("seed", "preset", "engine", "backend", "git_commit")},
    }
    write_result(out, lambda path: write_json(path, record))
    return record
