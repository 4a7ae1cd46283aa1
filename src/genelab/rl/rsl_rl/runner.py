"""rsl_rl's runner in our training loop, with checkpoints and exact resume."""

import contextlib
import io
import time
from collections.abc import Sequence
from typing import Any

import torch
from rsl_rl.runners import OnPolicyRunner
from rsl_rl.utils import resolve_class
from tensordict import TensorDict
from torch import nn

from genelab.core.config import to_dict
from genelab.core.errors import UserError
from genelab.core.threads import one_torch_thread
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg
from genelab.rl.checkpoint import INFO_KEY
from genelab.rl.loop import TrainingLoop, does_not_fit
from genelab.rl.rsl_rl.policy import RslRlPolicy
from genelab.rl.rsl_rl.ppo import PPO
from genelab.rl.rsl_rl.symmetry import symmetry_cfg
from genelab.rl.rsl_rl.vec_env import RslRlVecEnv


class Runner(OnPolicyRunner, TrainingLoop):
    """rsl_rl's networks, storage and PPO in our training loop."""

    env: RslRlVecEnv
    alg: PPO

    def __init__(
        self,
        env: ManagerBasedRlEnv,
        cfg: RslRlOnPolicyRunnerCfg,
        infos: dict[str, Any],
        hooks: Hooks = Hooks(),  # noqa: B008  (frozen)
        training: bool = True,
    ):
        self.worlds = env
        self.agent_cfg = cfg
        self.infos = infos
        self.hooks = hooks
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its networks
            try:
                super().__init__(RslRlVecEnv(env), train_cfg(cfg, env), log_dir=None, device=env.device)
            except ValueError as error:
                raise UserError(f"agent config: {error}") from error

    def run_iteration(self) -> tuple[dict[str, float], float, float]:
        self.alg.train_mode()
        start = time.perf_counter()
        self._collect(self.env.get_observations())
        collected = time.perf_counter()
        if self.agent_cfg.algorithm.decay_learning_rate:
            left = 1.0 - self.iteration / self.agent_cfg.max_iterations
            self.alg.bound_learning_rate(self.agent_cfg.algorithm.max_learning_rate * left)
        losses = self.alg.update()
        self.current_learning_iteration += 1
        return losses, collected - start, time.perf_counter() - collected

    def networks(self) -> Sequence[nn.Module]:
        return self.alg.actor, self.alg.critic

    @property
    def iteration(self) -> int:
        """Complete iterations."""
        return self.current_learning_iteration

    @property
    def steps(self) -> int:
        """Environment steps so far, over all worlds."""
        return self.current_learning_iteration * self.agent_cfg.num_steps_per_env * self.env.num_envs

    def policy(self, num_envs: int) -> RslRlPolicy:
        """A copy of the present actor, without its recurrent state."""
        build, cfg = resolve_class(self.cfg["actor"])
        with torch.random.fork_rng(devices=[]):  # new networks draw initial weights
            actor = build(self.env.get_observations(), self.cfg["obs_groups"], "actor", self.env.num_actions, **cfg)
        actor.load_state_dict(self.alg.get_policy().state_dict())
        return RslRlPolicy(actor.to(self.device), num_envs, str(self.device))

    def checkpoint(self) -> dict[str, Any]:
        """What a checkpoint file holds: networks, optimiser, iteration, and where they come from."""
        return {**self.alg.save(), "iter": self.current_learning_iteration, INFO_KEY: self.infos}

    def state(self) -> dict[str, Any]:
        """Everything that the next iteration depends on."""
        return {
            "checkpoint": self.checkpoint(),
            "env": self.env.env.state_dict(),
            "torch_rng": torch.get_rng_state(),
            "hidden": [self.alg.actor.get_hidden_state(), self.alg.critic.get_hidden_state()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.load_checkpoint(state["checkpoint"], weights_only=False)
        self.current_learning_iteration = state["checkpoint"]["iter"]
        self.env.env.load_state_dict(state["env"])
        torch.set_rng_state(state["torch_rng"])
        for model, hidden in zip((self.alg.actor, self.alg.critic), state["hidden"], strict=True):
            if hidden is not None:
                model.reset(hidden_state=hidden)

    def load_checkpoint(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        """Take over the networks of a checkpoint and, unless `weights_only`, its optimiser."""
        try:
            self.alg.load(checkpoint, {"actor": True, "critic": True, "optimizer": not weights_only}, strict=True)
        except (RuntimeError, KeyError) as error:
            raise does_not_fit(error) from error

    def trained_policy(self) -> RslRlPolicy:
        return RslRlPolicy(self.alg.get_policy(), self.env.num_envs, str(self.device))

    @one_torch_thread()
    @torch.no_grad()
    def _collect(self, obs: TensorDict) -> TensorDict:
        """One rollout into the algorithm's storage, and the returns that follow from it."""
        for _ in range(self.agent_cfg.num_steps_per_env):
            actions = self.alg.act(obs)
            obs, rewards, dones, extras = self.env.step(actions)
            self.alg.process_env_step(obs, rewards, dones, extras)
            if self.hooks.after_step is not None:
                self.hooks.after_step()
        self.alg.compute_returns(obs)
        return obs

    def metrics(self) -> dict[str, float]:
        return {
            "learning_rate": self.alg.learning_rate,
            "action_std": float(self.alg.get_policy().output_std.detach().mean()),
        }


def train_cfg(cfg: RslRlOnPolicyRunnerCfg, env: ManagerBasedRlEnv) -> dict[str, Any]:
    """The config as the nested dict that rsl_rl reads."""
    algorithm = to_dict(cfg.algorithm, type(cfg.algorithm))
    algorithm["symmetry_cfg"] = symmetry_cfg(cfg.algorithm.symmetry, env)
    del algorithm["symmetry"], algorithm["decay_learning_rate"]
    return {
        "num_steps_per_env": cfg.num_steps_per_env,
        "save_interval": cfg.save_interval,
        "obs_groups": {name: list(groups) for name, groups in cfg.obs_groups.items()},
        "actor": _model(cfg.actor),
        "critic": _model(cfg.critic),
        "algorithm": {"class_name": "genelab.rl.rsl_rl.ppo:PPO", **algorithm},
    }


def _model(cfg: RslRlModelCfg) -> dict[str, Any]:
    model: dict[str, Any] = {
        "class_name": "MLPModel" if cfg.rnn_type is None else "RNNModel",
        "hidden_dims": list(cfg.hidden_dims),
        "activation": cfg.activation,
        "obs_normalization": cfg.obs_normalization,
    }
    if cfg.rnn_type is not None:
        model |= {
            "rnn_type": cfg.rnn_type,
            "rnn_hidden_dim": cfg.rnn_hidden_dim,
            "rnn_num_layers": cfg.rnn_num_layers,
        }
    if cfg.distribution is not None:
        kind = "HeteroscedasticGaussianDistribution" if cfg.distribution.state_dependent else "GaussianDistribution"
        model["distribution_cfg"] = {
            "class_name": kind,
            "init_std": cfg.distribution.init_std,
            "std_type": cfg.distribution.std_type,
            "std_range": list(cfg.distribution.std_range),
        }
    return model
