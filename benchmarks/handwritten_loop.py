"""rsl_rl's PPO around a hand-written environment and nothing else: no logs, no checkpoints."""

import contextlib
import inspect
import io
from typing import Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.extensions import Symmetry
from tensordict import TensorDict

from genelab.core.config import to_dict
from genelab.mdp.symmetry import Mirror
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg


class HandwrittenLoop:
    """The loop of rsl_rl's runner. `env` has obs, num_envs, num_actions and step()."""

    def __init__(self, env: Any, cfg: RslRlOnPolicyRunnerCfg, mirror: Mirror | None):
        self.env = env
        self.steps = cfg.num_steps_per_env
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its networks
            self.alg = PPO.construct_algorithm(env.obs, env, _train_cfg(cfg), "cpu")
        if mirror is not None:
            self.alg.symmetry = Symmetry(env, _both(mirror), use_data_augmentation=True)
        self.alg.train_mode()

    def iterate(self) -> None:
        with torch.inference_mode():
            for _ in range(self.steps):
                obs, reward, done, extras = self.env.step(self.alg.act(self.env.obs))
                self.alg.process_env_step(obs, reward, done, extras)
            self.alg.compute_returns(self.env.obs)
        self.alg.update()


def _both(mirror: Mirror) -> Any:
    """The function that rsl_rl's symmetry asks for: samples, then their mirror images."""

    def augment(env: Any, obs: TensorDict | None, actions: torch.Tensor | None) -> tuple[Any, Any]:
        if obs is not None:
            images = mirror.observations({name: obs[name] for name in mirror.groups})
            obs = torch.cat((obs, TensorDict(images, batch_size=obs.batch_size)))  # type: ignore
        if actions is not None:
            actions = torch.cat((actions, mirror.action(actions)))
        return obs, actions

    return augment


def _train_cfg(cfg: RslRlOnPolicyRunnerCfg) -> dict[str, Any]:
    """The nested dict that rsl_rl reads."""
    known = inspect.signature(PPO).parameters  # what it does not know is of no weight for speed
    settings = to_dict(cfg.algorithm, type(cfg.algorithm)).items()
    algorithm = {name: value for name, value in settings if name in known and name != "symmetry"}
    return {
        "num_steps_per_env": cfg.num_steps_per_env,
        "obs_groups": {name: list(groups) for name, groups in cfg.obs_groups.items()},
        "actor": {"class_name": "MLPModel", **cfg.actor.arguments()},
        "critic": {"class_name": "MLPModel", **cfg.critic.arguments()},
        "algorithm": {"class_name": "PPO", **algorithm},
        "multi_gpu": None,
    }
