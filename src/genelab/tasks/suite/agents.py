"""The agent of the control suite's tasks, and its presets."""

from typing import Any

from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.rl.playground_specs import PLAYGROUND_SPECS


def ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO: policy of two layers of 64, value of three of 256, as many frames as were published."""
    return RslRlOnPolicyRunnerCfg(
        max_iterations=1600,
        num_steps_per_env=30,
        obs_groups={"actor": ("policy",), "critic": ("policy",)},
        actor=RslRlModelCfg(hidden_dims=(64, 64), activation="swish", distribution=RslRlDistributionCfg()),
        critic=RslRlModelCfg(hidden_dims=(256, 256, 256), activation="swish"),
        algorithm=RslRlPpoCfg(
            gamma=0.995,
            entropy_coef=0.01,
            value_loss_coef=0.5,
            use_clipped_value_loss=False,  # it lets values move by 0.2 an iteration, where they are in the hundreds
            num_learning_epochs=16,
            mini_batch_size=4096,
            learning_rate=1e-3,
            schedule="fixed",
        ),
    )


PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        "env.num_envs": 512,
        "agent.max_iterations": 650,
        "agent.critic.hidden_dims": (128, 128),
        "agent.algorithm.num_learning_epochs": 4,
    },
    **PLAYGROUND_SPECS,
}
