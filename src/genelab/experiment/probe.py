"""Fixed commands in every direction: how much of each a policy achieves, and how often the robot falls.

A mean over random commands hides a policy that walks well one way and not at all the other; this does not. A last row
has the task's own random commands for one episode with the pushes of training: there only falls count.
"""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from genelab.core.errors import UserError
from genelab.core.files import prepare_output, write_json, write_result
from genelab.experiment import provenance
from genelab.experiment.console import progress
from genelab.experiment.inference import load_policy, resolve_policy
from genelab.experiment.paired import PairedEnv
from genelab.experiment.setup import Overrides, Say
from genelab.mdp.commands import VelocityCommand, VelocityCommandCfg
from genelab.rl.backends.base import Policy

DIRECTION_NAMES = ("vx", "vy", "wz")
SETTLE_S = 1.0
"""Time to get up to speed, which does not count."""
UNUSED_IN_PROBE = {
    "env.num_envs": "a probe takes its number of worlds from --num-envs",
    "env.commands": "a probe gives fixed commands",
    "env.simulation.steps": "a probe takes its length from --seconds",
    "env.simulation.vis": "a probe shows no window; use play",
}


def run_probe(
    task: str, path: Path, overrides: Overrides, num_envs: int, seconds: float, seed: int, out: Path | None, say: Say
) -> dict[str, Any]:
    """Probe a checkpoint in `num_envs` worlds per command and, if `out` says where, write the result."""
    if num_envs < 1 or not seconds > SETTLE_S:
        raise UserError(f"a probe needs at least one world per command and more than {SETTLE_S} seconds")
    prepare_output(out)
    setup, loaded = resolve_policy(task, path, overrides, unused=UNUSED_IN_PROBE, say=say)
    cfg = setup.env_cfg
    disturbed = copy.deepcopy(cfg)
    disturbed.num_envs = num_envs
    disturbed.events = {**setup.spec.env_cfg(play=False).events, **cfg.events}
    velocities = {name: command for name, command in cfg.commands.items() if isinstance(command, VelocityCommandCfg)}
    if not velocities:
        raise UserError(f"task '{task}' has no velocity command to probe")
    name, ranges = next(iter(velocities.items()))
    commands = directions(ranges)
    cfg.num_envs = num_envs * len(commands)
    cfg.episode_length_s = seconds
    env = PairedEnv(cfg, seed=seed)
    held = torch.tensor(commands, device=env.device).repeat_interleave(num_envs, dim=0)
    term = env.command_manager.terms[name]
    assert isinstance(term, VelocityCommand)
    term.hold(held)
    velocity, upright = rollout(env, load_policy(env, loaded), seed, "fixed commands")
    env.close()
    env = PairedEnv(disturbed, seed=seed)
    _, survived = rollout(env, load_policy(env, loaded), seed, "random commands, pushed")
    env.close()
    measured = zip(commands, velocity.split(num_envs), upright.split(num_envs), strict=True)
    pushed = {"falls": int((~survived).sum()), "worlds": len(survived), "seconds": disturbed.episode_length_s}
    record = {
        "task": task,
        "checkpoint": str(path),
        "directions": [measure(*each) for each in measured],
        "falls": int((~upright).sum()),
        "random_with_pushes": pushed,
        "worlds_per_direction": num_envs,
        "seconds": seconds,
        "settle_seconds": SETTLE_S,
        "seed": seed,
        "engine": cfg.simulation.engine,
        "probed_at": provenance.now(),
        **provenance.stamp(),
    }
    write_result(out, lambda file: write_json(file, record))
    return record


def directions(cfg: VelocityCommandCfg) -> list[tuple[float, float, float]]:
    """Full and half command along each axis in both directions, as far as the task's ranges go, and standing."""
    still, commands = (0.0, 0.0, 0.0), []
    for axis, (low, high) in enumerate((cfg.lin_x, cfg.lin_y, cfg.ang_z)):
        values = [value for value in (high, high / 2, low / 2, low) if value != 0.0]
        commands += [(*still[:axis], value, *still[axis + 1 :]) for value in values]
    return [*commands, still]


@torch.no_grad()
def rollout(env: PairedEnv, policy: Policy, seed: int, label: str = "episode") -> tuple[Tensor, Tensor]:
    """One episode, shown as `label`: mean velocity (vx, vy, wz) of each world, (N, 3), and whether it never fell."""
    obs = env.reset(seed=seed)
    policy.reset()
    upright = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
    total = torch.zeros(env.num_envs, 3, device=env.device)
    settle, steps = round(SETTLE_S / env.step_dt), env.max_episode_length
    with progress(label, steps, "step") as row:
        for step in range(steps):
            obs, _, terminated, _, _ = env.step(policy.act(obs))
            upright &= ~terminated
            if step >= settle:
                total += torch.cat((env.robot.root_lin_vel[:, :2], env.robot.root_ang_vel[:, 2:]), dim=1)
            row.update(step + 1)
    return total / (steps - settle), upright


def measure(command: tuple[float, ...], velocity: Tensor, upright: Tensor) -> dict[str, Any]:
    """Median over the robots that did not fall. Standing has no ratio: there the speed itself is what is left over."""
    axis = next((i for i, value in enumerate(command) if value != 0.0), None)
    achieved = velocity[:, :2].norm(dim=1) if axis is None else velocity[:, axis]
    median = float(achieved[upright].median()) if bool(upright.any()) else None
    return {
        "direction": "stand" if axis is None else f"{DIRECTION_NAMES[axis]} {command[axis]:+g}",
        "command": list(command),
        "achieved": median,
        "ratio": None if axis is None or median is None else median / command[axis],
        "falls": int((~upright).sum()),
        "worlds": len(upright),
    }
