"""Named settings of PPO for the control suite: presets for any task with an agent of rsl_rl."""

from typing import Any

FRAMES = 100_000_000
"""Control steps over all worlds that no spec exceeds: its iterations are as many as there is room for."""

_PPO = "agent.algorithm."
_COMMON: dict[str, Any] = {
    "env.num_envs": 2048,
    "agent.num_steps_per_env": 30,
    "agent.action_repeat": 1,
    "agent.actor.hidden_dims": (64,) * 2,
    "agent.actor.activation": "swish",
    "agent.actor.obs_normalization": True,
    "agent.critic.hidden_dims": (256,) * 3,
    "agent.critic.activation": "swish",
    "agent.critic.obs_normalization": True,
    f"{_PPO}gamma": 0.995,
    f"{_PPO}lam": 0.95,
    f"{_PPO}num_learning_epochs": 16,
    f"{_PPO}mini_batch_size": 4096,
    f"{_PPO}clip_param": 0.2,
    f"{_PPO}entropy_coef": 0.01,
    f"{_PPO}value_loss_coef": 0.5,
    # The clipped loss lets values move by clip_param an iteration, where returns are in the hundreds.
    f"{_PPO}use_clipped_value_loss": False,
    f"{_PPO}optimizer": "adam",
    f"{_PPO}max_grad_norm": 1.0,
    f"{_PPO}learning_rate": 1e-3,
}
_DECAY = {f"{_PPO}schedule": "linear", f"{_PPO}min_learning_rate": 3.3e-5}
_CONSTANT = {f"{_PPO}schedule": "fixed"}
_VNORM = {f"{_PPO}normalize_v_targets": True}
_REWARD_X10 = {f"{_PPO}reward_scale": 10.0}
_SMALL = {f"{_PPO}mini_batch_size": 2048}
_CLIP = {f"{_PPO}clip_param": 0.3}
_HUMANOID = {"agent.actor.distribution": "tanh_normal", "agent.actor.hidden_dims": (256,) * 2}
_LOCO = {
    "env.num_envs": 8192,
    "agent.num_steps_per_env": 20,
    "agent.actor.hidden_dims": (128,) * 4,
    "agent.critic.hidden_dims": (256,) * 5,
    f"{_PPO}gamma": 0.97,
    f"{_PPO}num_learning_epochs": 4,
    f"{_PPO}learning_rate": 3e-4,
}
_PENDULUM = {f"{_PPO}num_learning_epochs": 4, "agent.action_repeat": 4}


def _spec(*parts: dict[str, Any]) -> dict[str, Any]:
    spec = {path: value for part in (_COMMON, *parts) for path, value in part.items()}
    frames = spec["env.num_envs"] * spec["agent.num_steps_per_env"] * spec["agent.action_repeat"]
    return {**spec, "agent.max_iterations": FRAMES // frames}


PLAYGROUND_SPECS: dict[str, dict[str, Any]] = {
    "ppo_playground": _spec(_DECAY, _REWARD_X10),
    "ppo_playground_vnorm": _spec(_DECAY, _VNORM, _SMALL),
    "ppo_playground_constlr": _spec(_CONSTANT),
    "ppo_playground_vnorm_constlr": _spec(_CONSTANT, _VNORM, _SMALL),
    "ppo_playground_constlr_clip03": _spec(_CONSTANT, _CLIP, _SMALL),
    "ppo_playground_vnorm_constlr_clip03": _spec(_CONSTANT, _VNORM, _CLIP, _SMALL),
    "ppo_playground_fingerspin": _spec(_DECAY, {f"{_PPO}gamma": 0.95}),
    "ppo_playground_pendulum": _spec(_DECAY, _PENDULUM),
    "ppo_playground_humanoid": _spec(_CONSTANT, _VNORM, _REWARD_X10, _HUMANOID, _SMALL),
    "ppo_playground_loco": _spec(_CONSTANT, _CLIP, _LOCO),
}
