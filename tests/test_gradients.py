"""The gradients that are written out are those that torch finds, whatever the settings."""

from typing import Any

import pytest
import torch
from torch import Tensor

from genelab.core.registry import find
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.cfg import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg, RslRlSymmetryCfg
from genelab.rl.methods.gradients import WrittenOut
from genelab.rl.methods.ppo import PPO
from genelab.rl.methods.spo import SpoCfg
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.scene.robots.go1 import MIRROR

PENDULUM, GO1 = "GeneLab-Inverted-Pendulum-v0", "Genelab-Velocity-Flat-Unitree-Go1-v0"


@pytest.fixture(scope="module")
def envs() -> dict[str, ManagerBasedRlEnv]:
    made = {}
    for task in (PENDULUM, GO1):
        cfg = find(task).env_cfg()
        cfg.num_envs, cfg.simulation.threads = 8, 1
        made[task] = ManagerBasedRlEnv(cfg, seed=0)
    return made


def after_a_rollout(env: ManagerBasedRlEnv, algorithm: RslRlPpoCfg, **model: Any) -> PPO:
    """A method with a rollout to learn from. Its weights have moved since, so that ratios are beyond the clip, too."""
    cfg = RslRlOnPolicyRunnerCfg(algorithm=algorithm, num_steps_per_env=16)
    cfg.actor.hidden_dims, cfg.critic = (16, 12), RslRlModelCfg(hidden_dims=(16, 12))
    assert cfg.actor.distribution is not None
    for name, value in model.items():
        holder = cfg.actor.distribution if hasattr(cfg.actor.distribution, name) else cfg.actor
        setattr(holder, name, value)
    torch.manual_seed(0)
    learner = RslRlLearner(env, cfg, infos={})
    method: Any = learner.method
    learner._collect()
    with torch.no_grad():
        method.compute_advantages()
        for weight in (*method.actor.parameters(), *method.critic.parameters()):
            weight.add_(0.1 * torch.randn_like(weight))
    return method


def gradients(method: PPO) -> dict[str, Tensor]:
    networks = {"actor": method.actor, "critic": method.critic}
    return {f"{n}.{w}": p.grad.clone() for n, net in networks.items() for w, p in net.named_parameters()}  # type: ignore


@pytest.mark.parametrize(
    ("task", "algorithm", "model"),
    [
        (PENDULUM, RslRlPpoCfg(), {}),
        (
            PENDULUM,
            RslRlPpoCfg(use_clipped_value_loss=False, schedule="fixed", entropy_coef=0.1),
            {"activation": "relu"},
        ),
        (PENDULUM, SpoCfg(max_state_kl=0.01), {"std_type": "log", "activation": "tanh"}),
        (PENDULUM, RslRlPpoCfg(), {"std_range": (0.5, 0.6)}),
        (PENDULUM, RslRlPpoCfg(), {"std_type": "log", "std_range": (0.5, 0.6)}),
        (GO1, RslRlPpoCfg(symmetry=RslRlSymmetryCfg(table=MIRROR)), {}),
        (GO1, RslRlPpoCfg(symmetry=RslRlSymmetryCfg(table=MIRROR, mirror_loss=0.5)), {"init_std": 0.3}),
        (GO1, RslRlPpoCfg(symmetry=RslRlSymmetryCfg(table=MIRROR, exact=True)), {}),
    ],
    ids=[
        "ppo",
        "unclipped values",
        "spo",
        "std at its bound",
        "log of it",
        "mirror images",
        "mirror loss",
        "exact networks",
    ],
)
def test_gradients_losses_and_divergence_are_those_that_torch_finds(
    task: str, algorithm: RslRlPpoCfg, model: dict[str, Any], envs: dict[str, ManagerBasedRlEnv]
) -> None:
    method: Any = after_a_rollout(envs[task], algorithm, **model)
    assert isinstance(method._written_out, WrittenOut)
    batch = next(method._batches())
    written, moved = method._differentiate(batch, 1.0)
    ours = gradients(method)
    method._written_out = None
    losses, divergence = method._differentiate(batch, 1.0)
    torch.testing.assert_close(ours, gradients(method), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(written, {name: loss.detach() for name, loss in losses.items()}, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(moved, divergence, rtol=1e-4, atol=1e-6)


def test_gradients_count_by_the_share_of_the_mini_batch(envs: dict[str, ManagerBasedRlEnv]) -> None:
    method: Any = after_a_rollout(envs[GO1], RslRlPpoCfg(symmetry=RslRlSymmetryCfg(table=MIRROR, mirror_loss=0.5)))
    batch = next(method._batches())
    method._differentiate(batch, 1.0)
    whole = gradients(method)
    method._differentiate(batch, 0.25)
    torch.testing.assert_close({name: 4.0 * grad for name, grad in gradients(method).items()}, whole)


@pytest.mark.parametrize(
    "model", [{"activation": "swish"}, {"state_dependent": True}, {"rnn_type": "gru"}], ids=["swish", "std", "memory"]
)
def test_other_networks_are_left_to_torch(model: dict[str, Any], envs: dict[str, ManagerBasedRlEnv]) -> None:
    assert after_a_rollout(envs[PENDULUM], RslRlPpoCfg(), **model)._written_out is None


def test_gradients_are_clipped_as_torch_clips_them(envs: dict[str, ManagerBasedRlEnv]) -> None:
    method: Any = after_a_rollout(envs[PENDULUM], RslRlPpoCfg())
    method._differentiate(next(method._batches()), 100.0)
    before = gradients(method)
    method._written_out.clip(0.5)
    ours = gradients(method)
    assert any(not torch.equal(ours[name], before[name]) for name in ours)
    for network in (method.actor, method.critic):
        for name, weight in network.named_parameters():
            weight.grad.copy_(before[f"{'actor' if network is method.actor else 'critic'}.{name}"])
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    torch.testing.assert_close(ours, gradients(method))
