"""PPO for the velocity tasks, as published."""

from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg


def flat_ppo(max_iterations: int) -> RslRlOnPolicyRunnerCfg:
    """For flat ground: 512-256-128."""
    hidden_dims = (512, 256, 128)
    return RslRlOnPolicyRunnerCfg(
        max_iterations=max_iterations,
        actor=RslRlModelCfg(hidden_dims=hidden_dims, distribution=RslRlDistributionCfg(init_std=1.0)),
        critic=RslRlModelCfg(hidden_dims=hidden_dims),
    )


def rough_ppo(max_iterations: int) -> RslRlOnPolicyRunnerCfg:
    """For rough ground: no entropy bonus, and the network's own standard deviation, within bounds."""
    cfg = flat_ppo(max_iterations)
    cfg.actor.distribution = RslRlDistributionCfg(init_std=1.0, state_dependent=True, std_range=(0.3, 2.0))
    cfg.algorithm = RslRlPpoCfg(entropy_coef=0.0, desired_kl=0.02)
    return cfg
