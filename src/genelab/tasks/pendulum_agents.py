"""Agents of skrl and stable-baselines3 for the inverted pendulum."""

from typing import Any

from genelab.rl.cfg import OffPolicyCfg, OnPolicyCfg, Sb3AgentCfg, SkrlAgentCfg

STEPS = 14_745_600
"""Environment steps of the published training with rsl_rl: 150 iterations x 24 steps x 4096 worlds."""


def skrl() -> SkrlAgentCfg:
    """PPO by skrl: 128-128, as many steps as the published training."""
    return SkrlAgentCfg(**_settings())


def sb3() -> Sb3AgentCfg:
    """PPO by stable-baselines3: 128-128, as many steps as the published training."""
    return Sb3AgentCfg(**_settings())


def _settings() -> dict[str, Any]:
    return {
        "max_iterations": STEPS,
        "save_interval": 5_000_000,
        "learning_rate": 1e-3,
        "on_policy": OnPolicyCfg(entropy_coef=0.005),
        # At 100 Hz a fall is a hundred backups of the target networks away, which with tau 0.005 come too late.
        # Rewards are a few hundredths a step, so that SAC's own first weight of the entropy, 1, would drown them.
        "off_policy": OffPolicyCfg(learning_starts=2000, gradient_steps=8, tau=0.05, entropy_coef=0.01),
    }
