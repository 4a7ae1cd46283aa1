"""Named settings of PPO for the control suite: presets for any task with an agent of rsl_rl.

`_COMMON` holds what they share; each spec names what differs. The number of iterations follows from `FRAMES`.
"""

from typing import Any

FRAMES = 100_000_000
"""Largest number of control steps over all worlds. A training ends with the last whole iteration below it."""

_COMMON: dict[str, Any] = {
    "agent.actor.hidden_dims": (64, 64),
    "agent.actor.activation": "swish",
    "agent.actor.obs_normalization": True,
    "agent.critic.hidden_dims": (256, 256, 256),
    "agent.critic.activation": "swish",
    "agent.critic.obs_normalization": True,
    "agent.algorithm.lam": 0.95,
    "agent.algorithm.entropy_coef": 0.01,
    "agent.algorithm.value_loss_coef": 0.5,
    # The clipped loss lets values move by clip_param an iteration, where returns are in the hundreds.
    "agent.algorithm.use_clipped_value_loss": False,
    "agent.algorithm.optimizer": "adam",
    "agent.algorithm.max_grad_norm": 1.0,
}
_DECAY = {
    "agent.algorithm.schedule": "linear",
    "agent.algorithm.learning_rate": 1e-3,
    "agent.algorithm.min_learning_rate": 3.3e-5,
}
_CONSTANT = {"agent.algorithm.schedule": "fixed", "agent.algorithm.learning_rate": 1e-3}
_VNORM = {"agent.algorithm.normalize_v_targets": True}
_REWARD_X10 = {"agent.algorithm.reward_scale": 10.0}


def _spec(
    rate: dict[str, Any],
    *others: dict[str, Any],
    gamma: float = 0.995,
    horizon: int = 30,
    epochs: int = 16,
    minibatch: int = 4096,
    clip: float = 0.2,
    worlds: int = 2048,
    action_repeat: int = 1,
) -> dict[str, Any]:
    spec = {
        "env.num_envs": worlds,
        "agent.num_steps_per_env": horizon,
        "agent.action_repeat": action_repeat,
        "agent.max_iterations": FRAMES // (worlds * horizon * action_repeat),
        **_COMMON,
        "agent.algorithm.gamma": gamma,
        "agent.algorithm.num_learning_epochs": epochs,
        "agent.algorithm.mini_batch_size": minibatch,
        "agent.algorithm.clip_param": clip,
        **rate,
    }
    for other in others:
        spec |= other
    return spec


PLAYGROUND_SPECS: dict[str, dict[str, Any]] = {
    "ppo_playground": _spec(_DECAY, _REWARD_X10),
    "ppo_playground_vnorm": _spec(_DECAY, _VNORM, minibatch=2048),
    "ppo_playground_constlr": _spec(_CONSTANT),
    "ppo_playground_vnorm_constlr": _spec(_CONSTANT, _VNORM, minibatch=2048),
    "ppo_playground_constlr_clip03": _spec(_CONSTANT, minibatch=2048, clip=0.3),
    "ppo_playground_vnorm_constlr_clip03": _spec(_CONSTANT, _VNORM, minibatch=2048, clip=0.3),
    "ppo_playground_fingerspin": _spec(_DECAY, gamma=0.95),
    "ppo_playground_pendulum": _spec(_DECAY, epochs=4, action_repeat=4),
    "ppo_playground_humanoid": _spec(
        _CONSTANT,
        _VNORM,
        _REWARD_X10,
        {"agent.actor.distribution": "tanh_normal", "agent.actor.hidden_dims": (256, 256)},
        minibatch=2048,
    ),
    "ppo_playground_loco": _spec(
        {"agent.algorithm.schedule": "fixed", "agent.algorithm.learning_rate": 3e-4},
        {"agent.actor.hidden_dims": (128,) * 4, "agent.critic.hidden_dims": (256,) * 5},
        gamma=0.97,
        horizon=20,
        epochs=4,
        clip=0.3,
        worlds=8192,
    ),
}
