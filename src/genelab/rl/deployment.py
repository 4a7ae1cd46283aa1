"""What a program that runs an exported policy must know about the robot, the observations and the actions.

Plain data for a JSON file that any language reads: names instead of indices, null where there is no limit.
``examples/deploy/README.md`` explains the fields.
"""

from typing import Any

import mujoco
import numpy as np

from genelab.core.config import reference, to_dict
from genelab.core.json_data import without_infinities
from genelab.envs import Entity, GoalCfg, ManagerBasedRlEnv, TermCfg
from genelab.rl.deployed import Deployed
from genelab.rl.exporter import GroupLayout, TermLayout, ports

HISTORY = {
    "order": "frame-major, oldest first: column = group.start + frame * group.frame_dim + term.start",
    "fill": "at the start of an episode every frame is the first one",
}


def describe(env: ManagerBasedRlEnv, deployed: Deployed, layout: tuple[GroupLayout, ...]) -> dict[str, Any]:
    """Everything about deployment that does not depend on the file format."""
    actions = _actions(env)
    description = {
        "obs_dim": deployed.obs_dim,
        "obs_groups": {group.name: _group(env, group) for group in layout},
        "history": HISTORY,
        "action_dim": env.num_actions,
        "action_range": [min(a["clip"][0] for a in actions), max(a["clip"][1] for a in actions)],
        "actions": actions,
        "normalization_baked": deployed.describe()["normalization_baked"],
        "is_recurrent": bool(deployed.state_shapes),
        "recurrent": _recurrent(deployed),
        "robot": _robot(env, env.robot),
        "other_robots": [_robot(env, env.entities[name]) for name in env.cfg.scene.robots if name != env.robot.name],
        "control_dt": env.step_dt,
        "physics_dt": env.cfg.simulation.dt,
        "decimation": env.cfg.decimation,
        "quaternion_order": "wxyz",
        "episode": _episode(env),
    }
    return without_infinities(description)


def _group(env: ManagerBasedRlEnv, group: GroupLayout) -> dict[str, Any]:
    return {
        "start": group.start,
        "dim": group.dim,
        "shape": list(group.shape),
        "history": group.history,
        "frame_dim": group.frame_dim,
        "terms": [_term(env, group, term) for term in group.terms],
    }


def _term(env: ManagerBasedRlEnv, group: GroupLayout, term: TermLayout) -> dict[str, Any]:
    group_cfg = env.cfg.observations[group.name]
    cfg = group_cfg.terms[term.name]
    return {
        "name": term.name,
        "dim": term.dim,
        "start": term.start,
        "scale": term.scale,
        "clip": to_dict(term.clip),
        "history": group.history,
        "noise": cfg.noise if group_cfg.noise else 0.0,
        **_call(cfg),
    }


def _actions(env: ManagerBasedRlEnv) -> list[dict[str, Any]]:
    described, start = [], 0
    for name, term in env.action_manager.terms.items():
        description = {
            "name": name,
            "kind": type(term).__name__,
            "start": start,
            "clip": [-term.cfg.clip, term.cfg.clip],
            "noise": term.cfg.noise,
            "latency": list(term.cfg.latency),
        }
        described.append(description | term.describe())
        start += term.dim
    return described


def _recurrent(deployed: Deployed) -> dict[str, Any] | None:
    if not deployed.state_shapes:
        return None
    layers, size = next(iter(deployed.state_shapes.values()))
    inputs, outputs = ports(deployed)
    return {
        "rnn_type": deployed.describe().get("rnn_type"),
        "rnn_num_layers": layers,
        "rnn_hidden_dim": size,
        "state_shape": [layers, 1, size],
        "state_axes": ["layers", "batch", "hidden"],
        "onnx_inputs": inputs,
        "onnx_outputs": outputs,
        "at_episode_start": "zero",
    }


def _robot(env: ManagerBasedRlEnv, robot: Entity) -> dict[str, Any]:
    """Joints in the order of observations. A joint without a servo has null for its actuator, gains and limits."""
    model, entity = env.scene.model, robot.layout
    # Of several actuators of a joint, the position servo is what the gains below are about.
    order = sorted(range(len(entity.actuator_ids)), key=lambda i: entity.actuator_kinds[i] == "position")
    drives = {entity.actuated_joints[i]: int(entity.actuator_ids[i]) for i in order}
    actuators = [drives.get(joint) for joint in robot.joint_names]
    gains = [(None, None) if a is None else _gains(model, a) for a in actuators]
    limits = [_effort_limits(model, a, int(j)) for a, j in zip(actuators, entity.joint_ids, strict=True)]
    return {
        "name": robot.name,
        "joint_names": list(robot.joint_names),
        "default_joint_pos": env.scene.default_qpos[entity.qpos_ids].tolist(),
        "joint_limits": [_joint_limits(model, int(joint)) for joint in entity.joint_ids],
        "actuators": [None if a is None else model.actuator(a).name.removeprefix(f"{robot.name}/") for a in actuators],
        "kp": [kp for kp, _ in gains],
        "kd": [kd for _, kd in gains],
        "effort_limits": limits,
    }


def _joint_limits(model: mujoco.MjModel, joint: int) -> list[float] | None:
    return model.jnt_range[joint].tolist() if model.jnt_limited[joint] else None


def _gains(model: mujoco.MjModel, actuator: int) -> tuple[float, float] | tuple[None, None]:
    kp, (_, minus_kp, minus_kd) = float(model.actuator_gainprm[actuator, 0]), model.actuator_biasprm[actuator, :3]
    affine = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE.value
    return (kp, float(-minus_kd)) if affine and minus_kp == -kp else (None, None)


def _effort_limits(model: mujoco.MjModel, actuator: int | None, joint: int) -> list[float] | None:
    """The tighter of what the actuator and what the joint allows, N or N m."""
    ranges = []
    if actuator is not None and model.actuator_forcelimited[actuator]:
        ranges.append(model.actuator_forcerange[actuator])
    if actuator is not None and model.jnt_actfrclimited[joint]:
        ranges.append(model.jnt_actfrcrange[joint])
    if not ranges:
        return None
    low, high = np.array(ranges).T
    return [float(low.max()), float(high.min())]


def _episode(env: ManagerBasedRlEnv) -> dict[str, Any]:
    """The task itself, so that its evaluation can be repeated without genelab."""
    cfg = env.cfg
    return {
        "max_steps": env.max_episode_length,
        "scale_rewards_by_dt": cfg.scale_rewards_by_dt,
        "rewards": {name: _call(term) | {"weight": term.weight} for name, term in cfg.rewards.items()},
        "terminations": {name: _call(term) | {"time_out": term.time_out} for name, term in cfg.terminations.items()},
        "events": {
            name: _call(term) | {"mode": term.mode, "interval_s": to_dict(term.interval_s)}
            for name, term in cfg.events.items()
        },
        "commands": to_dict(cfg.commands),
        "goal": to_dict(cfg.goal, GoalCfg),
    }


def _call(cfg: TermCfg) -> dict[str, Any]:
    return {"function": reference(cfg.func), "params": to_dict(cfg.params)}
