"""The paired closed loop: the same episodes in every engine.

A block is one episode in every world. All worlds start together from a seed of the block, and none starts anew before
the next block, so episode k has the same initial state, noise, commands and pushes in every engine.

In each control step gauges are read, besides the task's own rewards and metrics. A gauge returns values (N,) by name,
none where it does not apply: a fixed base has no attitude, a scene without contact sensors no strides.
"""

import hashlib
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.math import cross, quat_apply
from genelab.core.rng import derive_seed
from genelab.core.stats import bootstrap_means, holm, interval, mcnemar_p, permutation_p, tost_p
from genelab.envs import ManagerBasedRlEnv
from genelab.experiment.console import Row, progress
from genelab.experiment.paired import PairedEnv
from genelab.mdp.commands import VelocityCommand
from genelab.rl.backends.base import Policy
from genelab.sensors import ContactSensor

SIGNIFICANT = 0.05
MARGIN_SHARE = 0.01
"""Margin if none is given: this share of the source engine's mean return."""
WALKING = 0.05
"""m/s below which a cost of transport means nothing."""
VELOCITY_NAMES = ("x", "y", "yaw")
Trace = tuple[Tensor, ...]
"""qpos and qvel (T, N, nq or nv) before each control step of the first block, and the actions (T, N, A) taken then."""


@dataclass(frozen=True)
class Episodes:
    """What happened in each of E episodes, in the same order in every engine."""

    values: dict[str, np.ndarray]
    """(E,) by metric, NaN where it is not defined. Length comes first: engines that differ show there first."""
    fallen: np.ndarray
    """(E,) bool: ended by a termination rather than by its time."""
    schedule: tuple[str, ...]
    """Digests of every random draw. Equal digests: the same noise, commands and pushes."""
    start: np.ndarray
    """(E, nq + nv) initial states."""
    seconds: float
    trace: Trace


@torch.no_grad()
def run_episodes(env: PairedEnv, policy: Policy, seed: int, blocks: int = 1, label: str = "episodes") -> Episodes:
    """Run one episode per world and block, shown as `label`."""
    with progress(label, blocks * env.max_episode_length, "step") as row:
        runs = [_run_block(env, policy, derive_seed(seed, f"episodes/{block}"), row) for block in range(blocks)]
    return Episodes(
        values={name: np.concatenate([run.values[name] for run in runs]) for name in runs[0].values},
        fallen=np.concatenate([run.fallen for run in runs]),
        schedule=tuple(digest for run in runs for digest in run.schedule),
        start=np.concatenate([run.start for run in runs]),
        seconds=sum(run.seconds for run in runs),
        trace=runs[0].trace,
    )


def _run_block(env: PairedEnv, policy: Policy, seed: int, row: Row) -> Episodes:
    """One episode in every world."""
    began = time.perf_counter()
    running = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
    sums: dict[str, Tensor] = {}
    ended: dict[str, Tensor] = {}
    obs = env.reset(seed=seed)
    policy.reset()
    states: list[tuple[Tensor, Tensor, Tensor]] = []
    for _ in range(env.max_episode_length):
        action = policy.act(obs)
        states.append((env.engine.qpos.clone(), env.engine.qvel.clone(), action.clone()))
        obs, _, _, _, extras = env.step(action)
        for name, value in (item for gauge in GAUGES for item in gauge(env).items()):
            total = sums.setdefault(name, torch.zeros_like(value, dtype=torch.float64))
            total += torch.where(running, value, 0.0)
        if (finished := extras["finished"]) is not None:
            new = running[finished.env_ids]  # those that end now for the first time
            for name, values in _record(env, finished).items():
                kept = ended.setdefault(name, torch.zeros_like(running, dtype=torch.float64))
                kept[finished.env_ids[new]] = values[new].double()
            running[finished.env_ids] = False
        row.update(row.done + 1)
    if bool(running.any()):
        raise UserError("the task's episodes do not end: it has no time-out")
    trace = tuple(torch.stack(parts) for parts in zip(*states, strict=True))
    start = torch.cat(states[0][:2], dim=1).double().cpu().numpy()
    fallen = ended.pop("fallen").bool().cpu().numpy()
    means = derive(env, {name: total / ended["length"] for name, total in sums.items()})
    values = {name: value.cpu().numpy() for name, value in {**ended, **means}.items()}
    draws = sorted(env.streams.state_dict()["generators"].items())
    schedule = hashlib.sha256(b"".join(name.encode() + state.cpu().numpy().tobytes() for name, state in draws))
    return Episodes(values, fallen, (schedule.hexdigest(),), start, time.perf_counter() - began, trace)


def _record(env: PairedEnv, finished: Any) -> dict[str, Tensor]:
    """What is kept of the episodes that have ended in this step."""
    record = {"length": finished.lengths, "return": finished.returns}
    record |= {f"reward {name}": row for name, row in zip(env.cfg.rewards, finished.reward_terms, strict=True)}
    record |= {f"metric {name}": row for name, row in zip(env.cfg.metrics, finished.metrics, strict=True)}
    return record | {"fallen": env.terminated[finished.env_ids]}


def compare_episodes(source: Episodes, target: Episodes, margin: float, seed: int = 0) -> dict[str, Any]:
    """Every metric with its difference, interval and p-value; falls; and the verdict on the return.

    ``equivalent``: shown to be within the margin. ``gap``: beyond the margin, and beyond the 95 % interval of chance.
    ``undecided``: neither, for which more episodes are the remedy.
    """
    found = {name: _metric(source.values[name], target.values[name], seed) for name in source.values}
    metrics = {name: metric for name, metric in found.items() if metric is not None}
    # Where no episode differs there is nothing to test, and nothing to correct the other tests for.
    tested = [metric for metric in metrics.values() if metric.pop("differs")]
    for metric, adjusted in zip(tested, holm([metric["p"] for metric in tested]), strict=True):
        metric["p_holm"] = adjusted
    means = bootstrap_means(target.values["return"] - source.values["return"], seed)
    difference, (low, high) = metrics["return"]["difference"], metrics["return"]["ci95"]
    inner = interval(means, 0.90)
    equivalent = -margin < inner[0] and inner[1] < margin
    gap = abs(difference) > margin and (low > 0.0 or high < 0.0)
    ours, theirs = source.fallen, target.fallen
    pairs = {"only_source": int((ours & ~theirs).sum()), "only_target": int((theirs & ~ours).sum())}
    return {
        "metrics": metrics,
        "falls": {"source": int(ours.sum()), "target": int(theirs.sum()), **pairs, "p": mcnemar_p(*pairs.values())},
        "equivalence": {"margin": margin, "difference": difference, "ci90": inner, "p": tost_p(means, margin)},
        "verdict": "equivalent" if equivalent else "gap" if gap else "undecided",
        "same_schedule": source.schedule == target.schedule,
        "start_difference": float(np.abs(source.start - target.start).max()),
    }


def _metric(source: np.ndarray, target: np.ndarray, seed: int) -> dict[str, Any] | None:
    """One metric over the pairs in which both engines have it: a robot that never steps has no stride frequency."""
    both = np.isfinite(source) & np.isfinite(target)
    if not both.any():
        return None
    ours, theirs = source[both], target[both]
    return {
        "source": float(ours.mean()),
        "target": float(theirs.mean()),
        "difference": float((theirs - ours).mean()),
        "ci95": interval(bootstrap_means(theirs - ours, seed)),
        "p": permutation_p(theirs - ours, seed),
        "p_holm": 1.0,
        "differs": bool((theirs != ours).any()),
        "spread": float(ours.std(ddof=1)) if len(ours) > 1 else 0.0,
        "n": len(ours),
    }


def effort(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Mean actuator force, N or N m, and mechanical power of all actuators, W."""
    layout = env.robot.layout
    if not len(layout.actuator_ids):
        return {}
    force = env.robot.actuator_force
    found = {"actuator force": force.abs().mean(dim=1)}
    joints = [env.robot.joint_names.index(joint) for joint in layout.actuated_joints if joint in env.robot.joint_names]
    if len(joints) == len(layout.actuator_ids):  # the speed of a tendon or a site is not known here
        gear = torch.tensor(env.scene.model.actuator_gear[layout.actuator_ids, 0], dtype=force.dtype, device=env.device)
        found["power"] = (force * gear * env.robot.joint_vel[:, joints]).abs().sum(dim=1)
    return found


def action_rate(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Mean change of the action since the last step."""
    return {"action rate": (env.action_manager.action - env.action_manager.previous_action).abs().mean(dim=1)}


def posture(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Height, tilt and speed of a free base."""
    if env.robot.layout.free_qpos is None:
        return {}
    tilt = (-env.robot.projected_gravity[:, 2]).clamp(-1.0, 1.0).acos()
    speed = env.robot.body_lin_vel[:, 0, :2].norm(dim=1)
    return {"base height": env.robot.body_pos[:, 0, 2], "base tilt": tilt, "base speed": speed}


def velocity_error(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Distance between commanded and reached velocity per axis, in the frame of a free base."""
    commands = [term.command for term in env.command_manager.terms.values() if isinstance(term, VelocityCommand)]
    if not commands or env.robot.layout.free_qpos is None:
        return {}
    reached = (*env.robot.root_lin_vel[:, :2].T, env.robot.root_ang_vel[:, 2])
    return {f"velocity error {axis}": (commands[0][:, i] - reached[i]).abs() for i, axis in enumerate(VELOCITY_NAMES)}


def contact(env: ManagerBasedRlEnv) -> dict[str, Tensor]:
    """Touching, touch-downs, force at touch-down and sliding speed of every side of a contact sensor, for `derive`."""
    found = {}
    for name, row, sensor in _contact_sides(env):
        engine, (bodies, arms) = env.engine, sensor.places
        body, arm = bodies[row], quat_apply(engine.body_quat[:, bodies[row]], arms[row].expand(env.num_envs, 3))
        velocity = engine.body_lin_vel[:, body] + cross(engine.body_ang_vel[:, body], arm)
        touching, landed = sensor.data.in_contact[:, row].float(), sensor.data.first_contact[:, row].float()
        found[f"{name} duty factor"] = touching
        found[f"{name} stride frequency"] = landed / env.step_dt
        found[f"{name} touch-down force"] = landed / env.step_dt * sensor.data.force[:, row].norm(dim=1)
        found[f"{name} slip"] = touching * velocity[:, :2].norm(dim=1)
    return found


def _contact_sides(env: ManagerBasedRlEnv) -> list[tuple[str, int, ContactSensor]]:
    """Every side of every contact sensor: what to call it, its number and its sensor."""
    sides = []
    for sensor in env.sensors.values():
        if isinstance(sensor, ContactSensor):
            names = sensor.cfg.side_names if len(sensor.cfg.sides) > 1 else [sensor.name]
            sides += [(name, row, sensor) for row, name in enumerate(names)]
    shared = Counter(name for name, _, _ in sides)
    return [(f"{s.name} {name}" if shared[name] > 1 else name, row, s) for name, row, s in sides]


GAUGES = (effort, action_rate, posture, velocity_error, contact)


def derive(env: ManagerBasedRlEnv, means: dict[str, Tensor]) -> dict[str, Tensor]:
    """The means of an episode with ratios in their place: per touch-down, per time in contact, per distance."""
    derived = dict(means)
    for name, _, _ in _contact_sides(env):
        derived[f"{name} touch-down force"] = means[f"{name} touch-down force"] / means[f"{name} stride frequency"]
        derived[f"{name} slip"] = means[f"{name} slip"] / means[f"{name} duty factor"]
    speed = derived.pop("base speed", None)
    if speed is not None and "power" in means:
        model = env.scene.model
        weight = float(model.body_subtreemass[env.robot.layout.body_ids[0]] * -model.opt.gravity[2])
        derived["cost of transport"] = torch.where(speed > WALKING, means["power"] / (weight * speed), torch.nan)
    return derived
