"""Agents of skrl and stable-baselines3 for the inverted pendulum."""

from genelab.rl.cfg import OnPolicyCfg, Sb3AgentCfg, SkrlAgentCfg

STEPS = 14_745_600
"""Environment steps of the published training with rsl_rl: 150 iterations x 24 steps x 4096 worlds."""


def skrl_ppo() -> SkrlAgentCfg:
    """PPO by skrl: 128-128, as many steps as the published training."""
    return SkrlAgentCfg(max_iterations=STEPS, save_interval=5_000_000, learning_rate=1e-3, on_policy=_on_policy())


def sb3_ppo() -> Sb3AgentCfg:
    """PPO by stable-baselines3: 128-128, as many steps as the published training."""
    return Sb3AgentCfg(max_iterations=STEPS, save_interval=5_000_000, learning_rate=1e-3, on_policy=_on_policy())


def _on_policy() -> OnPolicyCfg:
    return OnPolicyCfg(entropy_coef=0.005)
