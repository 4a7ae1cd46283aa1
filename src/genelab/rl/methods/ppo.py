"""Proximal policy optimisation with rsl_rl's networks, storage and advantages.

An update is rsl_rl's, operation by operation (a test compares the bits), cut into pieces that other methods replace.
For most networks on a CPU, gradients are those that `genelab.rl.methods.gradients` has written out: the same up to
rounding. What is added: all weights are stepped in one fused operation, the value of a cut-off episode is taken where
it was cut off, the learning rate has an upper bound, and what ``docs/backends.md`` lists under "Settings of PPO".
"""

import inspect
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import torch
from rsl_rl.algorithms import PPO as RslRlPPO  # noqa: N811
from rsl_rl.modules import EmpiricalNormalization
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.deployed import Deployed
from genelab.rl.methods.base import Method, batch_of
from genelab.rl.methods.gradients import WrittenOut
from genelab.rl.methods.peers import Peers
from genelab.rl.model_cfg import RslRlDistributionCfg
from genelab.rl.rsl_rl.networks import make_network
from genelab.rl.rsl_rl.symmetry import MirrorImages, make_symmetry
from genelab.rl.rsl_rl.tanh_normal import carried_out

Batch = RolloutStorage.Batch
_RSL_RL_SETTINGS = inspect.signature(RslRlPPO).parameters
"""What rsl_rl's PPO is made with. Settings of ours with the same name mean the same."""
SMALLEST_RATE = 1e-5
"""Of the adaptive schedule."""


class PPO(RslRlPPO, Method):
    """PPO that bootstraps time-outs from the final observation.

    rsl_rl adds gamma * V(s_t) to the reward of a truncated step; right is gamma * V(s_{t+1}), where s_{t+1} is the
    state the episode was cut off in, ``extras["final_obs"]``: the observations already belong to the next episode.

    The adaptive learning rate stays at or below `max_learning_rate`. rsl_rl lets it rise to 1e-2, where the value
    function of a small network comes apart: while the policy's noise is large, no step is large for its KL divergence.
    """

    symmetry: MirrorImages | None
    optimizer: Optimizer

    def __init__(self, actor: Any, critic: Any, storage: RolloutStorage, cfg: RslRlPpoCfg, device: str):
        self.cfg = cfg
        self._max_learning_rate = cfg.max_learning_rate if cfg.schedule == "adaptive" else cfg.learning_rate
        settings = {name: getattr(cfg, name) for name in _RSL_RL_SETTINGS if hasattr(cfg, name)}
        settings["num_mini_batches"] = cfg.mini_batches(storage.num_envs * storage.num_transitions_per_env)
        super().__init__(actor, critic, storage, **settings, device=device)
        for group in self.optimizer.param_groups:
            if "fused" in group:
                group["fused"] = True  # one operation for all weights instead of nine for each
        self.value_normalizer = EmpiricalNormalization(1).to(device) if cfg.normalize_v_targets else None
        self._finished = 0  # steps of the storage whose returns are known
        self.peers: Peers | None = None

    @classmethod
    def build(cls, env: ManagerBasedRlEnv, cfg: RslRlOnPolicyRunnerCfg) -> Self:
        obs = batch_of(env, env.obs)
        actor = make_network(cfg, "actor", obs, env.num_actions)
        critic = make_network(cfg, "critic", obs, 1)
        storage = RolloutStorage("rl", env.num_envs, cfg.actions_per_iteration, obs, [env.num_actions], env.device)
        symmetry = make_symmetry(cfg, env, (actor, critic))
        method = cls(actor, critic, storage, cfg.algorithm, env.device)
        method.symmetry = symmetry
        return method

    def join(self, peers: Peers) -> None:
        samples = peers.num_envs * self.storage.num_transitions_per_env
        self.num_mini_batches = self.cfg.mini_batches(samples)
        self._mini_batch = samples // self.num_mini_batches
        self.peers = peers

    def networks(self) -> dict[str, nn.Module]:
        networks: dict[str, nn.Module] = {"actor": self.actor, "critic": self.critic}
        return networks if self.value_normalizer is None else {**networks, "value_normalizer": self.value_normalizer}

    def optimizers(self) -> dict[str, Optimizer]:
        return {"optimizer": self.optimizer}

    def load_checkpoint(self, checkpoint: dict[str, Any], weights_only: bool) -> None:
        normalized = "value_normalizer_state_dict" in checkpoint
        if normalized == (self.value_normalizer is None):
            raise UserError(f"its critic has agent.algorithm.normalize_v_targets {str(normalized).lower()}")
        super().load_checkpoint(checkpoint, weights_only)
        if not weights_only:
            self.learning_rate = self.optimizer.param_groups[0]["lr"]
        elif self.schedule == "adaptive":
            # Adam's first steps are as large as the rate, however small the gradient. 1e-3 threw over a walking robot.
            self._set_learning_rate(SMALLEST_RATE)

    def start_iteration(self, progress: float) -> None:
        if self.schedule == "linear":
            first, last = self.cfg.learning_rate, self.cfg.min_learning_rate
            self._set_learning_rate(first + progress * (last - first))
        if self.schedule == "adaptive" and self.cfg.decay_learning_rate:
            self._max_learning_rate = self.cfg.max_learning_rate * (1.0 - progress)
            self.learning_rate = self._learning_rate
        if self.cfg.decay_entropy:
            self.entropy_coef = self.cfg.entropy_coef * max(0.0, 1.0 - progress / self.cfg.entropy_until)
        if self.exploration is not None and self.exploration.final_std is not None:
            self._bound_deviation(self.exploration, self.exploration.final_std, progress)

    def _bound_deviation(self, cfg: RslRlDistributionCfg, final: float, progress: float) -> None:
        """Lower the upper bound of the deviation to what it is at this share of the training."""
        begin, end = cfg.final_std_between
        if progress < begin:
            return
        share = 1.0 if progress >= end else (progress - begin) / (end - begin)
        bound = cfg.init_std + share * (final - cfg.init_std)
        drawn_from: Any = self.actor.distribution
        drawn_from.std_range[1], drawn_from.log_std_range[1] = bound, math.log(bound)
        for std in drawn_from.parameters():  # beyond the bound it would have no gradient that leads back
            std.data.clamp_(max=bound if drawn_from.std_type == "scalar" else math.log(bound))

    @property
    def learning_rate(self) -> float:
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        self._learning_rate = min(value, self._max_learning_rate)

    def metrics(self) -> dict[str, float]:
        return {"learning_rate": self.learning_rate, "action_std": float(self.actor.output_std.detach().mean())}

    def deployed(self) -> Deployed:
        return self.actor.deployed()  # type: ignore[attr-defined]

    def sample(self, obs: TensorDict) -> Tensor:
        return carried_out(self.actor, self.actor(obs, stochastic_output=True))

    def act(self, obs: TensorDict) -> Tensor:
        return carried_out(self.actor, super().act(obs))

    def process_env_step(self, obs: TensorDict, rewards: Tensor, dones: Tensor, extras: dict[str, Any]) -> None:
        time_outs = extras["time_outs"]
        rewards = rewards if self.cfg.reward_scale == 1.0 else rewards * self.cfg.reward_scale
        if bool(time_outs.any()):
            ids = time_outs.nonzero().flatten()
            rewards = rewards.clone()
            rewards[ids] += self.gamma * self._final_values(extras["final_obs"], ids)
        super().process_env_step(obs, rewards, dones, {})

    def compute_returns(self, obs: TensorDict) -> None:
        storage, hidden = self.storage, self.critic.get_hidden_state()
        next_values = self._values(self.critic(obs).detach())
        self.critic.reset(hidden_state=hidden)  # the next rollout begins with the same observation
        values = self._values(storage.values)
        advantage = torch.zeros_like(next_values)
        for step in reversed(range(self._finished, storage.step)):
            goes_on = 1.0 - storage.dones[step].float()
            delta = storage.rewards[step] + goes_on * self.gamma * next_values - values[step]
            advantage = delta + goes_on * self.gamma * self.lam * advantage
            storage.returns[step] = advantage + values[step]
            next_values = values[step]
        self._finished = storage.step % storage.num_transitions_per_env

    def compute_advantages(self) -> None:
        storage = self.storage
        storage.advantages = storage.returns - self._values(storage.values)
        if not self.normalize_advantage_per_mini_batch:
            storage.advantages = self._standardized(storage.advantages)
        if self.value_normalizer is not None:
            # Before the update, so that a first critic, whose outputs are near zero, predicts the mean return.
            self.value_normalizer.update(storage.returns.flatten(0, 1))
            storage.returns.copy_(self.value_normalizer(storage.returns))

    def update(self) -> dict[str, float]:
        sums: dict[str, Tensor] = {}
        steps = 0
        for batch in self._batches():
            for name, loss in self._learn(batch).items():
                sums[name] = sums.get(name, 0.0) + loss.detach()
            steps += 1
        observations: Any = self.storage.observations.flatten(0, 1)
        self.actor.update_normalization(observations)
        self.critic.update_normalization(observations)
        self.storage.clear()
        self.optimiser_steps += steps
        return {name: float(total) / steps for name, total in sums.items()}

    def surrogate(self, ratio: Tensor, advantages: Tensor) -> Tensor:
        """The loss of the policy, (B,), for how much more likely the actions are now, (B,)."""
        clipped = ratio.clamp(1.0 - self.clip_param, 1.0 + self.clip_param)
        return torch.max(-advantages * ratio, -advantages * clipped)

    def value_loss(self, values: Tensor, batch: Batch) -> Tensor:
        """The loss of the value function, (B, 1)."""
        if not self.use_clipped_value_loss:
            return (batch.returns - values).square()  # type: ignore[operator]
        near = batch.values + (values - batch.values).clamp(-self.clip_param, self.clip_param)  # type: ignore[operator]
        return torch.max((values - batch.returns).square(), (near - batch.returns).square())  # type: ignore[operator]

    def _standardized(self, values: Tensor) -> Tensor:
        mean, std = (values.mean(), values.std()) if self.peers is None else self.peers.mean_and_std(values)
        return (values - mean) / (std + 1e-8)

    def _values(self, predictions: Tensor) -> Tensor:
        """What the critic's outputs say about returns."""
        return predictions if self.value_normalizer is None else self.value_normalizer.inverse(predictions)

    def _batches(self) -> Iterator[Batch]:
        """The mini-batches of all epochs. Every epoch has the same ones, so they are gathered and mirrored once."""
        if self.memory():
            yield from map(
                self._prepared,
                self.storage.recurrent_mini_batch_generator(self.num_mini_batches, self.num_learning_epochs),
            )
            return
        if self.peers is None:
            drawn = self.storage.mini_batch_generator(self.num_mini_batches, 1)
        else:
            drawn = self.peers.mini_batches(self.storage, self.num_mini_batches)
        batches = list(map(self._prepared, drawn))
        for _ in range(self.num_learning_epochs):
            yield from batches

    def _prepared(self, batch: Any) -> Batch:
        if self.normalize_advantage_per_mini_batch:
            batch.advantages = self._standardized(batch.advantages)
        if self.symmetry is not None:
            self.symmetry.append(batch)
        if self._written_out is not None:
            self._written_out.prepare(batch)
        return batch

    def _learn(self, batch: Any) -> dict[str, Tensor]:
        """One gradient step; returns the losses."""
        size = len(batch.old_distribution_params[0])
        share = 1.0 if self.peers is None else size / self._mini_batch
        losses, divergence = self._differentiate(batch, share)
        if self.peers is not None:
            losses, divergence = {name: value.detach() * share for name, value in losses.items()}, divergence * share
            self.peers.add_up([*self._gradients(), *losses.values(), divergence])
        if self.schedule == "adaptive":
            self._adapt_learning_rate(divergence)
        if self._written_out is not None:
            self._written_out.clip(self.max_grad_norm)
        else:
            clip_grad_norm_(self.actor.parameters(), self.max_grad_norm)
            clip_grad_norm_(self.critic.parameters(), self.max_grad_norm)
        self.optimizer.step()
        return losses

    def _differentiate(self, batch: Any, share: float) -> tuple[dict[str, Tensor], Tensor]:
        """Set the gradients, which count by `share`; returns the losses and how far the policy has moved."""
        if self._written_out is not None:
            return self._written_out.differentiate(batch, share)
        size = len(batch.old_distribution_params[0])  # mirror images follow
        memory = dict(zip(("actor", "critic"), batch.hidden_states, strict=True))
        self.actor(batch.observations, masks=batch.masks, hidden_state=memory["actor"], stochastic_output=True)
        log_prob = self.actor.get_output_log_prob(batch.actions)
        values = self.critic(batch.observations, masks=batch.masks, hidden_state=memory["critic"])
        # Mirror images count in the losses above, not in the entropy and the divergence.
        entropy = self.actor.output_entropy[:size].mean()
        divergence = self.divergence(batch, tuple(p[:size] for p in self.actor.output_distribution_params))
        ratio = torch.exp(log_prob - batch.old_actions_log_prob.squeeze())
        losses = {
            "value": self.value_loss(values, batch).mean(),
            "surrogate": self.surrogate(ratio, batch.advantages.squeeze()).mean(),
            "entropy": entropy,
        }
        loss = losses["surrogate"] + self.value_loss_coef * losses["value"] - self.entropy_coef * entropy
        if self.symmetry is not None:
            losses["symmetry"] = self.symmetry.loss(self.actor, batch, size)
            if self.symmetry.cfg.mirror_loss > 0.0:
                loss = loss + self.symmetry.cfg.mirror_loss * losses["symmetry"]
        self.optimizer.zero_grad()
        (loss if self.peers is None else loss * share).backward()
        return losses, divergence

    def _gradients(self) -> list[Tensor]:
        if self._written_out is not None:
            return self._written_out.gradients
        return [w.grad for group in self.optimizer.param_groups for w in group["params"] if w.grad is not None]

    @cached_property
    def _written_out(self) -> WrittenOut | None:
        return WrittenOut(self) if WrittenOut.fits(self) else None

    @torch.no_grad()
    def divergence(self, batch: Any, params: tuple[Tensor, ...]) -> Tensor:
        """How far the policy is from the one that acted; nothing if the learning rate does not follow it."""
        if self.schedule != "adaptive":
            return torch.zeros((), device=self.device)
        kl = self.actor.get_kl_divergence(batch.old_distribution_params, params)
        return (kl if self.cfg.max_state_kl is None else kl.clamp(max=self.cfg.max_state_kl)).mean()

    def _adapt_learning_rate(self, kl: Tensor) -> None:
        """A smaller rate after a step that changed the policy much, a larger one after a step that hardly did."""
        rate = self.learning_rate
        if kl > self.desired_kl * 2.0:
            rate = max(SMALLEST_RATE, rate / 1.5)
        elif 0.0 < kl < self.desired_kl / 2.0:
            rate = min(1e-2, rate * 1.5)
        self._set_learning_rate(rate)

    def _set_learning_rate(self, value: float) -> None:
        self.learning_rate = value
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate

    def _final_values(self, final_obs: dict[str, Tensor], ids: Tensor) -> Tensor:
        """Value of the last observation in the worlds `ids`, (len(ids),)."""
        rows = {group: value[ids].to(self.device) for group, value in final_obs.items()}
        obs = TensorDict(rows, batch_size=[len(ids)])  # type: ignore[arg-type]
        hidden = self.critic.get_hidden_state()
        if hidden is None:
            return self._values(self.critic(obs).detach()).squeeze(-1)
        # A recurrent critic has seen everything up to s_t: let it see one observation more, then take that back.
        self.critic.reset(hidden_state=_rows(hidden, ids))
        values = self._values(self.critic(obs).detach()).squeeze(-1)
        self.critic.reset(hidden_state=hidden)
        return values


def _rows(hidden: Any, ids: Tensor) -> Any:
    """The hidden state of some worlds: (layers, N, dim), or a pair of these."""
    if isinstance(hidden, tuple):
        return tuple(_rows(part, ids) for part in hidden)
    return torch.index_select(hidden, 1, ids)
