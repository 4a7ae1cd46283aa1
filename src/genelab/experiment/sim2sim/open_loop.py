"""Open loop: the same initial states and the same actions in every engine, with no policy to make up for differences.

- drop: off the default pose, a free base lifted, tilted and turning, while the actuators hold the default pose;
- step: from the default pose, one actuator's target jumps;
- rollout: states along the recorded episodes, and the actions that were taken from there on.
"""

import math
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from genelab.core.math import quat_from_axis_angle, quat_mul
from genelab.experiment.paired import PairedEnv
from genelab.experiment.sim2sim.closed_loop import Trace

STEPS = 200
"""Control steps of each script."""
JUMP = 0.5
"""Raw action of the step script."""
LIFT, TILT, TURN = 0.1, 0.3, 1.0
"""How the drop script sets a free base: metres, rad, rad/s."""
QUANTITIES = {
    "joint position": ("m or rad", 1e-3, False),
    "joint velocity": ("m/s or rad/s", 1e-2, False),
    "base position": ("m", 1e-3, False),
    "base orientation": ("rad", 1e-3, False),
    "base velocity": ("m/s or rad/s", 1e-2, False),
    "actuator force": ("N or N m", 0.01, True),
    "contact force": ("N", 0.05, True),
}
"""What is compared: its unit, the tolerance in it, and whether that is a share of the source's largest value."""
Script = tuple[Tensor, Tensor, Tensor]
"""Where all worlds start, qpos and qvel (N, nq or nv), and what is done to them: actions (T, N, A)."""
Motion = dict[str, np.ndarray]
"""Quantity to (T, N, d); ``qvel`` beside them, for attribution."""


def make_scripts(env: PairedEnv, trace: Trace, steps: int = STEPS) -> dict[str, Script]:
    """The scripts for the worlds of an environment; `trace` is what the policy did in the source engine."""
    worlds, actions = env.num_envs, env.num_actions
    rest = env.engine.default_qpos.expand(worlds, -1).clone()
    still = torch.zeros_like(env.engine.qvel)
    nothing = torch.zeros(steps, worlds, actions, device=env.device)
    jump = nothing.clone()
    jump[:, torch.arange(worlds), torch.arange(worlds) % actions] = JUMP
    return {
        "drop": (*_dropped(env, rest.clone(), still.clone()), nothing),
        "step": (rest, still, jump),
        "rollout": _recorded(trace, steps),
    }


def _dropped(env: PairedEnv, qpos: Tensor, qvel: Tensor) -> tuple[Tensor, Tensor]:
    offsets = torch.linspace(-0.1, 0.1, env.num_envs, device=env.device).unsqueeze(1)
    for name, entity in env.scene.entities.items():
        robot = env.entities[name]
        low, high = robot.joint_limits.to(env.device).unbind(1)
        if len(entity.qpos_ids):
            qpos[:, torch.as_tensor(entity.qpos_ids)] = (robot.default_joint_pos + offsets).clamp(low, high)
        if entity.free_qpos is not None and entity.free_qvel is not None:
            at = entity.free_qpos
            axis = torch.tensor([math.sqrt(0.5), math.sqrt(0.5), 0.0], device=env.device)
            turned = quat_from_axis_angle(axis, torch.tensor(TILT, device=env.device))
            qpos[:, at + 2] += LIFT
            qpos[:, at + 3 : at + 7] = quat_mul(turned, qpos[:, at + 3 : at + 7])
            qvel[:, entity.free_qvel + 5] = TURN
    return qpos, qvel


def _recorded(trace: Trace, steps: int) -> Script:
    """World i starts at another moment of its episode than its neighbours, so that all phases are covered."""
    qpos, qvel, actions = trace
    length, worlds = actions.shape[:2]
    steps = min(steps, length)
    starts = torch.linspace(0, length - steps, worlds).long()
    ids = torch.arange(worlds)
    taken = torch.stack([actions[starts + step, ids] for step in range(steps)])
    return qpos[starts, ids], qvel[starts, ids], taken


@torch.no_grad()
def replay(env: PairedEnv, script: Script) -> Motion:
    """Carry out a script; what each quantity was after every control step."""
    qpos, qvel, actions = (tensor.to(env.device) for tensor in script)
    env.reset(seed=0)
    env.engine.set_state(env.worlds, qpos, qvel)
    kinds = mujoco.mjtJoint
    joints = _addresses(env.scene.model, kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE).tolist()
    free = _addresses(env.scene.model, kinds.mjJNT_FREE).T.tolist()
    recorded: dict[str, list[Tensor]] = {}
    for action in actions:
        env.action_manager.process(action)
        env.engine.step(env.cfg.decimation)
        qpos, qvel = env.engine.qpos, env.engine.qvel
        values = {"qvel": qvel}
        if joints[0]:
            values |= {"joint position": qpos[:, joints[0]], "joint velocity": qvel[:, joints[1]]}
        for at, dof in free[:1]:
            values |= {"base position": qpos[:, at : at + 3], "base orientation": qpos[:, at + 3 : at + 7]}
            values["base velocity"] = qvel[:, dof : dof + 6]
        if env.scene.model.nu:
            values["actuator force"] = env.engine.actuator_force
        if contacts := [env.engine.contact(name).flatten(1) for name in env.scene.contact_sensors]:
            values["contact force"] = torch.cat(contacts, dim=1)
        for name, value in values.items():
            recorded.setdefault(name, []).append(value.double().cpu().clone())
    return {name: torch.stack(values).numpy() for name, values in recorded.items()}


def part(source: Motion, target: Motion, step_dt: float) -> dict[str, Any]:
    """Where and by how much two motions part: of each quantity the worst component, in the mean and the worst world."""
    return {name: _part(name, source[name], target[name], step_dt) for name in QUANTITIES if name in source}


def _part(name: str, source: np.ndarray, target: np.ndarray, step_dt: float) -> dict[str, Any]:
    unit, tolerance, relative = QUANTITIES[name]
    tolerance *= max(float(np.abs(source).max()), 1e-9) if relative else 1.0
    error = _angles(source, target) if name == "base orientation" else np.abs(target - source).max(axis=2)  # (T, N)
    worst = error.max(axis=1)
    beyond = np.flatnonzero(~(worst <= tolerance))
    return {
        "unit": unit,
        "tolerance": tolerance,
        "first_step": int(beyond[0]) + 1 if beyond.size else None,
        "first_time_s": float((beyond[0] + 1) * step_dt) if beyond.size else None,
        "error_there": float(worst[beyond[0]]) if beyond.size else None,
        "max_error": float(worst.max()),
        "mean_curve": error.mean(axis=1).tolist(),
        "worst_curve": worst.tolist(),
    }


def _angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angles between quaternions, from the distance of the nearer of b and -b, which is exact for small angles too."""
    chord = np.minimum(np.linalg.norm(a - b, axis=2), np.linalg.norm(a + b, axis=2))
    return 4.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))


def _addresses(model: mujoco.MjModel, *kinds: mujoco.mjtJoint) -> np.ndarray:
    """(2, joints) first columns of qpos and qvel of all joints of these kinds."""
    return np.stack((model.jnt_qposadr, model.jnt_dofadr))[:, np.isin(model.jnt_type, kinds)]
