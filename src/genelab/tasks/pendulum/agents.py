"""Agents of the pendulum tasks, and their presets."""

from typing import Any

from genelab.rl import cfg as rl
from genelab.scene.robots.cartpole import MIRROR

STEPS = 14_745_600
"""Environment steps of the published training with rsl_rl: 150 iterations x 24 steps x 4096 worlds."""


def single_ppo() -> rl.RslRlOnPolicyRunnerCfg:
    """PPO for the inverted pendulum: 128-128, 150 iterations."""
    return _ppo((128, 128), max_iterations=150, max_learning_rate=1e-3)


def double_ppo() -> rl.RslRlOnPolicyRunnerCfg:
    """PPO for the double inverted pendulum: 256-128, 300 iterations."""
    cfg = _ppo((256, 128), max_iterations=300, max_learning_rate=3e-3)
    cfg.algorithm.gamma = 0.995  # turning back takes longer than the 1 s that 0.99 looks ahead: the cart left the track
    cfg.algorithm.decay_learning_rate = True  # with 4096 worlds one seed in three lost its balance again without
    return cfg


def memory_ppo() -> rl.RslRlOnPolicyRunnerCfg:
    """Recurrent PPO for the memory task: an LSTM actor."""
    cfg = _ppo((128, 128), max_iterations=300, max_learning_rate=1e-3)
    cfg.actor.rnn_type = "lstm"
    return cfg


def skrl() -> rl.SkrlAgentCfg:
    """PPO by skrl: 128-128, as many steps as the published training."""
    return rl.SkrlAgentCfg(**_settings())


def sb3() -> rl.Sb3AgentCfg:
    """PPO by stable-baselines3: 128-128, as many steps as the published training."""
    return rl.Sb3AgentCfg(**_settings())


SYMMETRIC: dict[str, Any] = {
    "agent.num_steps_per_env": 48,  # what the cart's place costs is small and comes late
    "agent.algorithm.decay_learning_rate": True,
    # Without it, the cart comes to rest beside the middle of its rail, at another place with every seed.
    "agent.algorithm.symmetry": rl.RslRlSymmetryCfg(table=MIRROR),
}
_SINGLE_CPU = {**SYMMETRIC, "env.num_envs": 64, "agent.max_iterations": 150}
SINGLE_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": _SINGLE_CPU,
    "spo": {
        "agent.algorithm": "spo",
        **_SINGLE_CPU,
        # SPO bounds its ratios smoothly, so its steps are shorter than those of PPO with the same settings.
        "agent.algorithm.clip_param": 0.4,
        "agent.algorithm.max_learning_rate": 3e-3,
    },
    "cpu:skrl": {"env.num_envs": 64, "agent.max_iterations": 307_200},
    "cpu:sb3": {"env.num_envs": 64, "agent.max_iterations": 307_200},
}
MEMORY_PRESETS: dict[str, dict[str, Any]] = {"cpu": {"env.num_envs": 512, "agent.max_iterations": 200}}
_SMALL = {"agent.actor.hidden_dims": (128, 128), "agent.critic.hidden_dims": (128, 128)}
DOUBLE_PRESETS: dict[str, dict[str, Any]] = {"cpu": {**SYMMETRIC, "env.num_envs": 256, **_SMALL}}


def _ppo(hidden_dims: tuple[int, ...], max_iterations: int, max_learning_rate: float) -> rl.RslRlOnPolicyRunnerCfg:
    """The published settings with two bounds, without which seeds come to different ends (docs/pendulum-study.md).

    The adaptive learning rate would rise to 1e-2, where the value function comes apart. The standard deviation would
    fall to 0.02, where the value function's errors are all that is left in the advantages, and the cart drifts away.
    """
    return rl.RslRlOnPolicyRunnerCfg(
        max_iterations=max_iterations,
        actor=rl.RslRlModelCfg(hidden_dims=hidden_dims, distribution=rl.RslRlDistributionCfg(std_range=(0.1, 1e6))),
        critic=rl.RslRlModelCfg(hidden_dims=hidden_dims),
        algorithm=rl.RslRlPpoCfg(max_learning_rate=max_learning_rate),
    )


def _settings() -> dict[str, Any]:
    return {
        "max_iterations": STEPS,
        "save_interval": 5_000_000,
        "learning_rate": 1e-3,
        "on_policy": rl.OnPolicyCfg(entropy_coef=0.005),
        # At 100 Hz a fall is a hundred backups of the target networks away, which with tau 0.005 come too late.
        # Rewards are a few hundredths a step, so that SAC's own first weight of the entropy, 1, would drown them.
        "off_policy": rl.OffPolicyCfg(learning_starts=2000, gradient_steps=8, tau=0.05, entropy_coef=0.01),
    }
