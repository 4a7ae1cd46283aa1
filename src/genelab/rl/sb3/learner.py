"""stable-baselines3's algorithms in our training loop: its networks, buffers and updates, our rollouts.

All worlds are acted for, bootstrapped and stored at once, without an info dict per world.
"""

import math
from operator import attrgetter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from genelab.core.errors import UserError
from genelab.core.ranges import CountOrZero
from genelab.core.stored_config import stored
from genelab.core.tensors import restore
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import Sb3AgentCfg
from genelab.rl.checkpoint import load_part
from genelab.rl.demos import read_demos
from genelab.rl.deployed import DeployedPolicy, FeedForward, flat
from genelab.rl.layers import ACTIVATIONS, Scale, squashed
from genelab.rl.sb3 import buffers
from genelab.rl.timestep import TimestepLearner, filled_rows

ALGORITHMS: dict[str, Any] = {"PPO": PPO, "A2C": A2C, "SAC": SAC, "TD3": TD3, "DDPG": DDPG}
ACTOR = "actor."
"""What the names of an off-policy actor's weights begin with."""


class Sb3Learner(TimestepLearner):
    """One of sb3's algorithms, without an sb3 environment."""

    agent_cfg: Sb3AgentCfg
    checkpoint_name = "model_{}_steps.zip"
    final_name = "model.zip"

    def build(self) -> None:
        super().build()
        env, cfg = self.env, self.agent_cfg
        self._groups = self.groups(cfg.obs_groups)
        self._parts = self._name_parts()
        spread = {"log_std_init": math.log(cfg.on_policy.init_std)} if cfg.is_on_policy else {}
        kind = "MultiInputPolicy" if cfg.her else "MlpPolicy"
        layers = {"net_arch": list(cfg.hidden_dims), "activation_fn": ACTIVATIONS[cfg.activation], **spread}
        settings = {"gamma": cfg.gamma, "policy_kwargs": layers, "device": env.device, **_arguments(cfg, env)}
        self.alg = ALGORITHMS[cfg.algorithm](
            kind, env=None, learning_rate=lambda _: self.learning_rate(), _init_setup_model=False, **settings
        )
        widths = {name: self.width(groups) for name, groups in self._parts.items()}
        boxes = [(name, gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float32)) for name, width in widths.items()]
        # in this order, in which an exported policy takes them too; a dict would be sorted
        self.alg.observation_space = gymnasium.spaces.Dict(boxes) if cfg.her else boxes[0][1]  # type: ignore[arg-type]
        self.alg.n_envs = env.num_envs
        self.alg.action_space = gymnasium.spaces.Box(-1.0, 1.0, (env.num_actions,), np.float32)
        if not cfg.is_on_policy:
            spaces = self.alg.observation_space, self.alg.action_space
            self.alg.replay_buffer = buffers.make_buffer(env, cfg, *spaces, training=self.training)
        self.alg._setup_model()
        self.normalizer: buffers.Normalizer | None = None
        """Of observations, if the agent normalises them."""
        if cfg.obs_normalization:
            self.normalizer = self.alg._vec_normalize_env = buffers.Normalizer(widths).to(env.device)
        self.alg.set_logger(Logger(folder=None, output_formats=[]))
        self._seen: buffers.Observation | None = None
        """The present observation as the buffer takes it."""
        self._starts = np.ones(env.num_envs, bool)
        """Whether it is the first of an episode."""

    def start(self) -> None:
        if self.agent_cfg.demo_path is not None:
            self._prefill(Path(self.agent_cfg.demo_path))
        super().start()

    def collect(self) -> None:
        (self._collect_on_policy if self.agent_cfg.is_on_policy else self._collect_off_policy)()

    def _collect_on_policy(self) -> None:
        self._learn_statistics(self.env.obs)
        obs = self._seen_by_policy(self.env.obs)
        actions, values, log_probs = self.alg.policy(obs)
        _, rewards, terminated, truncated, extras = self.env.step(actions)
        cut = (truncated & ~terminated).nonzero().flatten()
        if len(cut):  # an episode that was cut off goes on to be worth what its last observation is worth
            last = self._seen_by_policy(extras["final_obs"])[cut]
            rewards = rewards.index_add(0, cut, self.alg.gamma * self.alg.policy.predict_values(last).squeeze(-1))
        buffer = self.alg.rollout_buffer
        if buffer.full:
            buffer.reset()
        buffer.add(*(part.cpu().numpy() for part in (obs, actions, rewards)), self._starts, values, log_probs)
        self._starts = (terminated | truncated).cpu().numpy()
        if buffer.full:
            last_values = self.alg.policy.predict_values(self._seen_by_policy(self.env.obs))
            buffer.compute_returns_and_advantage(last_values, self._starts)

    def _collect_off_policy(self) -> None:
        before = self._numpy(self.env.obs) if self._seen is None else self._seen
        self._learn_statistics(self.env.obs)
        actions = self._explore()
        _, rewards, terminated, truncated, extras = self.env.step(actions * self.agent_cfg.off_policy.action_range)
        last = self._numpy(extras["final_obs"])
        self._seen = last if extras["finished"] is None else self._numpy(self.env.obs)
        buffers.store(self.alg.replay_buffer, before, last, actions, rewards, terminated, truncated)

    def _explore(self) -> Tensor:
        """Actions within [-1, 1], random ones before learning begins.  (N, A)"""
        off, shape = self.agent_cfg.off_policy, (self.env.num_envs, self.env.num_actions)
        if self.steps < off.learning_starts:
            return torch.empty(shape, device=self.env.device).uniform_(-1.0, 1.0)
        self.alg.policy.set_training_mode(False)
        actions = self.alg.policy._predict(self._seen_by_policy(self.env.obs), deterministic=False)
        if self.agent_cfg.algorithm != "SAC":  # SAC's own actions are random
            actions = (actions + off.exploration_std * torch.randn(shape, device=self.env.device)).clamp(-1.0, 1.0)
        return actions

    def update(self) -> int:
        if self.agent_cfg.is_on_policy:
            self.alg.train()
        elif self.alg.replay_buffer.full or not self.agent_cfg.her or self.alg.replay_buffer.ep_length[0].any():
            self.alg.train(self.agent_cfg.off_policy.gradient_steps, self.agent_cfg.off_policy.batch_size)
        else:
            return 0  # hindsight needs one of the first episodes, from row 0, to have ended
        self.losses = {name: float(value) for name, value in self._logged().items() if "loss" in name}
        return self._gradient_steps()

    def metrics(self) -> dict[str, float]:
        logged, names = self._logged(), {"ent_coef": "entropy_coef", "std": "action_std"}
        return {ours: float(logged[theirs]) for theirs, ours in names.items() if theirs in logged}

    def _logged(self) -> dict[str, Any]:
        """What sb3 logged in its last update."""
        return {name.removeprefix("train/"): value for name, value in self.alg.logger.name_to_value.items()}

    def networks(self) -> dict[str, nn.Module]:
        return {"policy": self.alg.policy, **({} if self.normalizer is None else {"normalizer": self.normalizer})}

    def trained_policy(self) -> DeployedPolicy:
        policy, scale = self.alg.policy, self.agent_cfg.off_policy.action_range
        if self.agent_cfg.is_on_policy:
            head: nn.Module = nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net)
            scale = 1.0
        elif self.agent_cfg.algorithm == "SAC":
            head = squashed(policy.actor.latent_pi, policy.actor.mu, scale=scale)
        else:
            head = nn.Sequential(policy.actor.mu, Scale(scale))  # bounded already

        def sample(obs: dict[str, Tensor]) -> Tensor:
            return policy._predict(self._seen_by_policy(obs), deterministic=False) * scale

        normalizer = None if self.normalizer is None else self.normalizer.side_by_side()
        actor = FeedForward(self._groups, self.width(self._groups), head, normalizer)
        return DeployedPolicy(actor, self.env.num_envs, self.env.device, sample)

    def checkpoint(self) -> dict[str, Any]:
        variables = {name: getattr(self.alg, name).detach() for name in self.alg._get_torch_save_params()[1]}
        parameters = {"parameters": self.alg.get_parameters(), "variables": variables}
        normalizer = {} if self.normalizer is None else {"normalizer": self.normalizer.state_dict()}
        return {**parameters, **normalizer, "updates": self.alg._n_updates, **self.origin()}

    def _take_over(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        if ("normalizer" in checkpoint) != self.agent_cfg.obs_normalization:  # its weights are for the other inputs
            raise UserError(f"agent.obs_normalization is {not self.agent_cfg.obs_normalization} in the checkpoint")
        parameters = checkpoint["parameters"]
        if self.normalizer is not None:
            load_part(self.normalizer, checkpoint["normalizer"])
        if weights_only and not (self.training or self.agent_cfg.is_on_policy):  # to act, the actor is enough
            weights = parameters["policy"].items()
            actor = {name.removeprefix(ACTOR): value for name, value in weights if name.startswith(ACTOR)}
            return load_part(self.alg.policy.actor, actor)
        if weights_only:
            return load_part(self.alg.policy, parameters["policy"])
        for name in self.alg.get_parameters():
            load_part(attrgetter(name)(self.alg), parameters[name])
        for name in self.alg._get_torch_save_params()[1]:
            restore(getattr(self.alg, name).data, checkpoint["variables"], name)
        self.alg._n_updates = stored(checkpoint, "updates", CountOrZero)

    def buffer_state(self) -> dict[str, Any]:
        buffer = self.alg.replay_buffer
        filled = {name: torch.from_numpy(array[: buffer.size()]) for name, array in buffers.arrays_of(buffer).items()}
        state = {"arrays": filled, "pos": buffer.pos, "full": buffer.full}
        if self.agent_cfg.her:
            state["episode_start"] = torch.from_numpy(buffer._current_ep_start)
        return state

    def load_buffer_state(self, state: dict[str, Any]) -> None:
        position, full = stored(state, "pos", CountOrZero), stored(state, "full", bool)
        buffer = self.alg.replay_buffer
        rows = filled_rows(buffer.buffer_size, position, full)
        for name, array in buffers.arrays_of(buffer).items():
            restore(torch.from_numpy(array[:rows]), state["arrays"], name)
        buffer.pos, buffer.full = position, full
        if self.agent_cfg.her:
            restore(torch.from_numpy(buffer._current_ep_start), state, "episode_start")

    def _prefill(self, path: Path) -> None:
        demos = read_demos(path, self.infos["task"], self.env, self._groups)
        buffer, steps = self.alg.replay_buffer, len(demos["actions"])
        if steps > buffer.buffer_size:
            room = f"agent.off_policy.buffer_size room for {buffer.buffer_size}"
            raise UserError(f"'{path}' has {steps} steps per world, {room}")
        actions = (demos["actions"] / self.agent_cfg.off_policy.action_range).clamp(-1.0, 1.0)
        flags = demos["rewards"], demos["terminated"], demos["truncated"]
        for step in range(steps):
            obs, after = ({g: demos[f"{part}.{g}"][step] for g in self._groups} for part in ("obs", "next_obs"))
            row = (actions[step], *(flag[step] for flag in flags))
            buffers.store(buffer, self._numpy(obs), self._numpy(after), *row)
            self._learn_statistics(obs)

    def _name_parts(self) -> dict[str, tuple[str, ...]]:
        """sb3's names for the parts of the observation, with the groups in them. Only hindsight has several."""
        if not self.agent_cfg.her:
            return {buffers.OBSERVATION: self._groups}
        goals = () if self.env.goal is None else self.env.goal.groups
        if not (rest := tuple(name for name in self._groups if name not in goals)):
            raise UserError("agent.obs_groups has no group but the goals, which hindsight adds by itself")
        return {buffers.OBSERVATION: rest, buffers.ACHIEVED: goals[:1], buffers.DESIRED: goals[1:]}

    def _learn_statistics(self, obs: dict[str, Tensor]) -> None:
        if self.normalizer is not None:
            self.normalizer.update(self._tensors(obs))

    def _seen_by_policy(self, obs: dict[str, Tensor]) -> Any:
        """Observations as the policy takes them."""
        tensors = self._tensors(obs)
        return tensors if self.normalizer is None else self.normalizer(tensors)

    def _tensors(self, obs: dict[str, Tensor]) -> Any:
        """Observations in the parts that sb3 knows."""
        if not self.agent_cfg.her:
            return flat(obs, self._groups)
        return {name: flat(obs, groups) for name, groups in self._parts.items()}

    def _numpy(self, obs: dict[str, Tensor]) -> buffers.Observation:
        """Observations as the buffers take them."""
        tensors = self._tensors(obs)
        if isinstance(tensors, dict):
            return {name: value.cpu().numpy() for name, value in tensors.items()}
        return tensors.cpu().numpy()


def _arguments(cfg: Sb3AgentCfg, env: ManagerBasedRlEnv) -> dict[str, Any]:
    """What the algorithm's constructor takes beside what all take."""
    on, off = cfg.on_policy, cfg.off_policy
    if cfg.is_on_policy:
        shared = {"n_steps": on.num_steps, "gae_lambda": on.lam, "max_grad_norm": on.max_grad_norm}
        shared |= {"ent_coef": on.entropy_coef, "vf_coef": on.value_loss_coef}
        if cfg.algorithm == "A2C":
            return shared
        batch = on.num_steps * env.num_envs // on.num_mini_batches
        return {**shared, "batch_size": max(2, batch), "n_epochs": on.num_epochs, "clip_range": on.clip_param}
    entropy = "auto" if off.entropy_coef is None else off.entropy_coef
    noise = {"target_policy_noise": off.target_noise, "target_noise_clip": off.target_noise_clip}
    special: dict[str, dict[str, Any]] = {
        "SAC": {"ent_coef": entropy, "target_entropy": -float(env.num_actions)},
        "TD3": {"policy_delay": off.policy_delay, **noise},
        "DDPG": {},
    }
    return {"buffer_size": off.buffer_size, "tau": off.tau, **special[cfg.algorithm]}
