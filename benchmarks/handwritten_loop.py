"""rsl_rl's PPO around a hand-written environment and nothing else: no logs, no checkpoints."""

import contextlib
import io
from typing import Any

import torch
from rsl_rl.algorithms import PPO

from genelab.core.config import to_dict
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg


class HandwrittenLoop:
    """The loop of rsl_rl's runner. `env` has obs, num_envs, num_actions and step()."""

    def __init__(self, env: Any, cfg: RslRlOnPolicyRunnerCfg, symmetry: Any):
        self.env = env
        self.steps = cfg.num_steps_per_env
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its networks
            self.alg = PPO.construct_algorithm(env.obs, env, _train_cfg(cfg), "cpu")
        self.alg.symmetry = symmetry
        self.alg.train_mode()

    def iterate(self) -> None:
        with torch.inference_mode():
            for _ in range(self.steps):
                obs, reward, done, extras = self.env.step(self.alg.act(self.env.obs))
                self.alg.process_env_step(obs, reward, done, extras)
            self.alg.compute_returns(self.env.obs)
        self.alg.update()


def _train_cfg(cfg: RslRlOnPolicyRunnerCfg) -> dict[str, Any]:
    """The nested dict that rsl_rl reads."""
    algorithm = to_dict(cfg.algorithm, type(cfg.algorithm))
    for ours in ("symmetry", "decay_learning_rate", "max_learning_rate"):  # of no weight for speed
        del algorithm[ours]
    return {
        "num_steps_per_env": cfg.num_steps_per_env,
        "obs_groups": {name: list(groups) for name, groups in cfg.obs_groups.items()},
        "actor": {"class_name": "MLPModel", **cfg.actor.arguments()},
        "critic": {"class_name": "MLPModel", **cfg.critic.arguments()},
        "algorithm": {"class_name": "PPO", **algorithm},
        "multi_gpu": None,
    }
