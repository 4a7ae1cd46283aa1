"""rsl_rl's PPO around a hand-written environment and nothing else: no logs, no checkpoints."""

import contextlib
import io
from typing import Any

import torch
from rsl_rl.algorithms import PPO


class HandwrittenLoop:
    """The loop of rsl_rl's runner. `env` has obs, num_envs, num_actions and step()."""

    def __init__(self, env: Any, train_cfg: dict[str, Any]):
        self.env = env
        self.steps = train_cfg["num_steps_per_env"]
        train_cfg["algorithm"]["class_name"] = "PPO"
        del train_cfg["algorithm"]["max_learning_rate"]  # genelab's own addition, of no weight for speed
        with contextlib.redirect_stdout(io.StringIO()):
            self.alg = PPO.construct_algorithm(env.obs, env, {**train_cfg, "multi_gpu": None}, "cpu")
        self.alg.train_mode()

    def iterate(self) -> None:
        with torch.inference_mode():
            for _ in range(self.steps):
                obs, reward, done, extras = self.env.step(self.alg.act(self.env.obs))
                self.alg.process_env_step(obs, reward, done, extras)
            self.alg.compute_returns(self.env.obs)
        self.alg.update()
