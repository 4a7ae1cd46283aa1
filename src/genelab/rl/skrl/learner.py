"""skrl's agents in our training loop.

skrl computes the value of a time-out from ``next_observations``, so these are the true last observations of episodes.
"""

from typing import Any

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.a2c import A2C
from skrl.agents.torch.ddpg import DDPG
from skrl.agents.torch.ppo import PPO
from skrl.agents.torch.sac import SAC
from skrl.agents.torch.td3 import TD3
from skrl.memories.torch import RandomMemory
from skrl.resources.noises.torch import GaussianNoise
from skrl.resources.preprocessors.torch import RunningStandardScaler
from torch import Tensor

from genelab.core.ranges import CountOrZero
from genelab.core.stored_config import stored
from genelab.core.tensors import restore, stored_tensor
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import SkrlAgentCfg
from genelab.rl.checkpoint import load_part
from genelab.rl.deployed import DeployedPolicy, FeedForward, flat
from genelab.rl.layers import Standardize
from genelab.rl.skrl.models import MODELS
from genelab.rl.timestep import TimestepLearner, filled_rows

AGENTS: dict[str, Any] = {"PPO": PPO, "A2C": A2C, "SAC": SAC, "TD3": TD3, "DDPG": DDPG}
REMEMBERED = {"log_entropy_coefficient": None, "_entropy_coefficient": float, "_update_counter": int}
"""What some agents remember beside their networks and optimisers."""


class SkrlLearner(TimestepLearner):
    """One of skrl's agents, its memory and our networks."""

    agent_cfg: SkrlAgentCfg

    def build(self) -> None:
        super().build()
        env, cfg = self.env, self.agent_cfg
        self._actor_groups = self.groups(cfg.obs_groups["actor"])
        self._critic_groups = self.groups(cfg.obs_groups["critic"])
        spaces: dict[str, gymnasium.Space] = {
            "observation_space": _box(self.width(self._actor_groups), np.inf),
            "state_space": _box(self.width(self._critic_groups), np.inf),
            "action_space": _box(env.num_actions, np.inf if cfg.is_on_policy else cfg.off_policy.action_range),
        }
        rows = cfg.on_policy.num_steps if cfg.is_on_policy else max(1, cfg.off_policy.buffer_size // env.num_envs)
        size, replace = rows if self.training else 1, not cfg.is_on_policy
        # Without replacement, every batch would shuffle the whole memory.
        self.memory = RandomMemory(memory_size=size, num_envs=env.num_envs, device=env.device, replacement=replace)
        models = {name: model(spaces, cfg, env.device) for name, model in MODELS[cfg.algorithm].items()}
        settings = {"memory": self.memory, "cfg": _agent_cfg(cfg, spaces, env), "device": env.device}
        self.agent = AGENTS[cfg.algorithm](models=models, **settings, **spaces)
        self.agent.init()
        self.agent.enable_training_mode(self.training)

    def collect(self) -> None:
        obs, states = self._inputs(self.env.obs)
        when = {"timestep": self.control_steps, "timesteps": self.agent_cfg.max_iterations}
        actions, _ = self.agent.act(obs, states, **when)
        _, rewards, terminated, truncated, extras = self.env.step(actions)
        next_obs, next_states = self._inputs(extras["final_obs"])
        seen = {"observations": obs, "states": states, "next_observations": next_obs, "next_states": next_states}
        ends = {"terminated": terminated.unsqueeze(-1), "truncated": (truncated & ~terminated).unsqueeze(-1)}
        self.agent.record_transition(**seen, actions=actions, rewards=rewards.unsqueeze(-1), **ends, infos={}, **when)

    def update(self) -> int:
        self.agent.tracking_data.clear()
        for module in self.agent.checkpoint_modules.values():
            for group in module.param_groups if isinstance(module, torch.optim.Optimizer) else ():
                group["lr"] = self.learning_rate()
        self.agent.write_interval = 1  # SAC tells its losses only when skrl's own log is on
        self.agent.enable_models_training_mode(True)
        self.agent.update(timestep=self.control_steps, timesteps=self.agent_cfg.max_iterations)
        self.agent.enable_models_training_mode(False)
        self.agent.write_interval = 0
        for name, values in self.agent.tracking_data.items():
            kind, _, what = name.partition(" / ")
            if kind == "Loss":
                self.losses[what.lower().replace(" ", "_")] = float(np.mean(values))
        return self._gradient_steps()

    def metrics(self) -> dict[str, float]:
        if self.agent_cfg.algorithm == "SAC":
            return {"entropy_coef": float(self.agent._entropy_coefficient)}
        if self.agent_cfg.is_on_policy:
            return {"action_std": float(self.agent.policy.log_std.detach().exp().mean())}
        return {}

    def networks(self) -> dict[str, torch.nn.Module]:
        modules = self.agent.checkpoint_modules.items()
        return {name: module for name, module in modules if isinstance(module, torch.nn.Module)}

    def trained_policy(self) -> DeployedPolicy:
        model, scaler = self.agent.policy, self.agent.checkpoint_modules.get("observation_preprocessor")
        normalizer = None
        if scaler is not None:
            std = scaler.running_variance.float().sqrt() + scaler.epsilon
            normalizer = Standardize(scaler.running_mean.float(), std, scaler.clip_threshold)
        groups = self._actor_groups

        def sample(obs: dict[str, Tensor]) -> Tensor:
            seen = flat(obs, groups)
            return model.act({"observations": seen if scaler is None else scaler(seen)}, role="policy")[0]

        actor = FeedForward(groups, self.width(groups), model.head(), normalizer)
        return DeployedPolicy(actor, self.env.num_envs, self.env.device, sample)

    def checkpoint(self) -> dict[str, Any]:
        modules = {name: module.state_dict() for name, module in self.agent.checkpoint_modules.items()}
        return {"modules": modules, "remembered": self._remembered(), **self.origin()}

    def _take_over(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        for name, module in self.agent.checkpoint_modules.items():
            if not (weights_only and isinstance(module, torch.optim.Optimizer)):
                load_part(module, checkpoint["modules"][name])
        if weights_only:
            return
        state = checkpoint["remembered"]
        for name in self._remembered():
            if name == "log_entropy_coefficient":  # its optimiser holds the tensor itself
                restore(self.agent.log_entropy_coefficient.data, state, name)
            elif isinstance(state[name], Tensor):  # a number becomes one with the first update
                setattr(self.agent, name, stored_tensor(state, name, (1,)))
            else:
                setattr(self.agent, name, stored(state, name, REMEMBERED[name]))

    def _remembered(self) -> dict[str, Any]:
        return {name: getattr(self.agent, name) for name in REMEMBERED if hasattr(self.agent, name)}

    def buffer_state(self) -> dict[str, Any]:
        filled = self.memory.memory_size if self.memory.filled else self.memory.memory_index
        tensors = {name: tensor[:filled].clone() for name, tensor in self.memory.tensors.items()}
        return {"tensors": tensors, "index": self.memory.memory_index, "filled": self.memory.filled}

    def load_buffer_state(self, state: dict[str, Any]) -> None:
        index, full = stored(state, "index", CountOrZero), stored(state, "filled", bool)
        rows = filled_rows(self.memory.memory_size, index, full)
        for name, tensor in self.memory.tensors.items():
            restore(tensor[:rows], state["tensors"], name)
        self.memory.memory_index, self.memory.filled = index, full

    def _inputs(self, obs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What actor and critic see."""
        return flat(obs, self._actor_groups), flat(obs, self._critic_groups)


def _box(size: int, bound: float) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-bound, bound, (size,), np.float32)


def _agent_cfg(cfg: SkrlAgentCfg, spaces: dict[str, gymnasium.Space], env: ManagerBasedRlEnv) -> dict[str, Any]:
    """The config as skrl reads it."""

    def scaler(name: str, size: Any) -> dict[str, Any]:
        if not cfg.obs_normalization:
            return {}
        kwargs = {"size": size, "device": env.device}
        return {f"{name}_preprocessor": RunningStandardScaler, f"{name}_preprocessor_kwargs": kwargs}

    def noise(name: str, std: float) -> dict[str, Any]:
        kwargs = {"mean": 0.0, "std": std * off.action_range, "device": env.device}
        return {name: GaussianNoise, f"{name}_kwargs": kwargs} if std > 0.0 else {}

    on, off = cfg.on_policy, cfg.off_policy
    common = {
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        "discount_factor": cfg.gamma,
        "learning_rate": cfg.learning_rate,
        **scaler("observation", spaces["observation_space"]),
        **scaler("state", spaces["state_space"]),
    }
    if cfg.is_on_policy:
        common |= {"rollouts": on.num_steps, "gae_lambda": on.lam, "time_limit_bootstrap": True, **scaler("value", 1)}
        common |= {"grad_norm_clip": on.max_grad_norm, "entropy_loss_scale": on.entropy_coef}
    else:
        common |= {"gradient_steps": off.gradient_steps, "batch_size": off.batch_size, "polyak": off.tau}
        common["random_timesteps"] = -(-off.learning_starts // env.num_envs)
    epochs = {"learning_epochs": on.num_epochs, "mini_batches": on.num_mini_batches}
    clips = dict.fromkeys(("ratio_clip", "value_clip"), on.clip_param)
    first_entropy = 1.0 if off.entropy_coef is None else off.entropy_coef
    special = {
        "PPO": {**epochs, **clips, "value_loss_scale": on.value_loss_coef},
        "A2C": {},
        "SAC": {"learn_entropy": off.entropy_coef is None, "initial_entropy_value": first_entropy},
        "TD3": {
            **noise("exploration_noise", off.exploration_std),
            **noise("smooth_regularization_noise", off.target_noise),
            "smooth_regularization_clip": off.target_noise_clip * off.action_range,
            "policy_delay": off.policy_delay,
        },
        "DDPG": noise("exploration_noise", off.exploration_std),
    }
    return common | special[cfg.algorithm]
