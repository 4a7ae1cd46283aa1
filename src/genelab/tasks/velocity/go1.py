"""The Unitree Go1 follows a velocity command: the published task, and how it is learnt on few cores."""

from collections.abc import Callable
from typing import Any

from genelab import mdp
from genelab.envs import EventTermCfg, ManagerBasedRlEnvCfg, RewardTermCfg
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlDistributionCfg, RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg
from genelab.scene.robots.go1 import LEGS, MIRROR, go1
from genelab.tasks.velocity.builder import COMMAND, VelocityRobot, flat_agent, on_ground, pushes, ramp, steady, velocity
from genelab.tasks.velocity.builder import rough_ppo as rough_ppo

FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGHS = tuple(f"{leg}_thigh" for leg in LEGS)
_COMMAND, _FEET = {"command": COMMAND}, {"feet": "feet", "command": COMMAND}
_SHARE = {**_COMMAND, "smallest": 0.3}
_STEPPING = {**_FEET, "threshold": 0.1}
GO1 = VelocityRobot(
    robot=go1,
    sensors={"feet": on_ground(FEET), "thighs": on_ground(THIGHS)},
    actions={"legs": JointPositionActionCfg(scale=0.25)},
    command=VelocityCommandCfg(resampling_s=(3.0, 8.0)),
    rewards={
        "track_lin_vel": RewardTermCfg(mdp.track_lin_vel, weight=2.0, params={**_COMMAND, "variance": 0.25}),
        "track_ang_vel": RewardTermCfg(mdp.track_ang_vel, weight=1.0, params={**_COMMAND, "variance": 0.25}),
        "air_time": RewardTermCfg(mdp.feet_air_time, weight=0.25, params={**_STEPPING, "low": 0.1, "high": 0.5}),
        "lin_vel_z": RewardTermCfg(mdp.lin_vel_z_l2, weight=-2.0),
        "ang_vel_xy": RewardTermCfg(mdp.ang_vel_xy_l2, weight=-0.05),
        "tilt": RewardTermCfg(mdp.tilt_l2, weight=-1.0),
        "height": RewardTermCfg(mdp.base_height_l2, weight=-1.0, params={"height": 0.34}),
        "torque": RewardTermCfg(mdp.actuator_force_l2, weight=-2e-4),
        "joint_acc": RewardTermCfg(mdp.JointAccL2, weight=-1e-5),
        "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.01),
        "joint_limits": RewardTermCfg(mdp.joint_limits, weight=-1.0),
        "thigh_contact": RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": "thighs"}),
        "slip": RewardTermCfg(mdp.feet_slip, weight=-0.1, params={**_FEET, "sites": LEGS, "threshold": 0.05}),
    },
    push={"xy": 0.5, "yaw": 0.5},
)


def flat(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on flat ground.

    The command is a velocity forwards and to the left and a yaw rate, in the robot's own frame. The actor sees what the
    real robot can measure: angular velocity, direction of gravity and joints; the critic also sees the velocity.
    """
    return velocity(GO1, play=play)


def rough(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on stairs, boxes, rough ground and slopes, seeing the heights of the ground around.

    As on flat ground, on a grid of cells that get harder from row to row. In training all robots start on the first
    row, which is flat, and move to harder cells when they get far. In play and evaluation they are spread evenly over
    all rows and stay there.
    """
    return velocity(GO1, rough=True, play=play)


def flat_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on flat ground: 512-256-128, 3000 iterations."""
    return flat_agent(max_iterations=3000)


def _shaping(iterations: int) -> dict[str, Any]:
    """What leads out of standing still; gone after twice so many iterations (docs/go1-study.md).

    Progress along the command and a trot pay at first; penalties on joint accelerations and changes of action come in
    slowly; commands are small for half as long. Progress stays twice as long as the rest: slow commands and turns are
    learnt last.
    """
    fade, late = (ramp(1.0, 0.0, n * iterations) for n in (1, 2))
    return {
        "env.rewards.progress": RewardTermCfg(mdp.progress, weight=2.0, params=_SHARE, ramp=late),
        "env.rewards.trot": RewardTermCfg(mdp.trot, weight=2.0, params=_STEPPING, ramp=fade),
        **{f"env.rewards.{name}.ramp": ramp(0.05, 1.0, iterations) for name in ("joint_acc", "action_rate")},
        f"env.commands.{COMMAND}.ramp": ramp(0.3, 1.0, iterations // 2),
    }


def _cpu(iterations: int, layers: tuple[int, ...]) -> dict[str, Any]:
    """Small networks, few worlds, larger steps of physics and of learning, and the robot's symmetry."""
    return {
        "env.num_envs": 512,
        "env.simulation.dt": 0.02 / 3,
        "env.decimation": 3,
        "env.simulation.iterations": 4,  # of the solver: a policy returns the same with 100
        "agent.max_iterations": iterations,
        "agent.actor.hidden_dims": layers,
        "agent.critic.hidden_dims": layers,
        "agent.algorithm.num_learning_epochs": 4,
        "agent.algorithm.max_learning_rate": 3e-3,
        "agent.algorithm.decay_learning_rate": True,
        "agent.algorithm.desired_kl": 0.02,
        "agent.algorithm.symmetry": RslRlSymmetryCfg(table=MIRROR),
    }


_EXACT = RslRlSymmetryCfg(table=MIRROR, exact=True)
_SMALL, _LARGE = (64, 64, 64), (128, 128, 128)
_LONG_STEPS = {**_STEPPING, "shortest": 0.1}
_TO_WALK = {
    **_shaping(200),
    # Without this one pair of feet steps and the other shuffles.
    "env.rewards.swing": RewardTermCfg(mdp.trot, weight=2.0, params=_LONG_STEPS, ramp=ramp(1.0, 0.0, 150, hold=300)),
}


def _long(iterations: int) -> dict[str, Any]:
    """An hour and more: many worlds, rare pushes, and exploration that fades until the end."""
    return {
        **_cpu(iterations, _LARGE),
        "env.num_envs": 1024,
        "env.events.push": pushes(GO1, every=(4.0, 12.0)),
        "agent.actor.distribution": RslRlDistributionCfg(final_std=0.12),
        "agent.algorithm.entropy_coef": 0.002,
        "agent.algorithm.decay_entropy": True,
        "agent.algorithm.symmetry": _EXACT,
    }


_JOINTS: dict[str, Any] = {"low": 0.45, "high": 2.2, "shared": True}
_SOFT = {"time_constant": (1.0, 2.0), "impedance": (0.2, 0.9), "depth": (0.001, 0.015)}
_RANDOM: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
    "gains": (mdp.randomize_gains, {"low": 0.75, "high": 1.33, "shared": True}),
    "damping": (mdp.randomize_joints, {"field": "joint_damping", **_JOINTS}),
    "dry_friction": (mdp.randomize_joints, {"field": "joint_friction", **_JOINTS}),
    "mass": (mdp.randomize_mass, {"bodies": ".*", "low": 0.78, "high": 1.28, "operation": "scale", "shared": True}),
    "com": (mdp.randomize_com, {"bodies": "trunk", "offset": (0.03, 0.03, 0.03)}),
    "friction": (mdp.randomize_friction, {"geoms": "robot/.*_foot", "low": 0.5, "high": 1.2}),
    "contacts": (mdp.randomize_contacts, {"geoms": "robot/.*_foot|ground", **_SOFT}),
    "contact_model": (mdp.randomize_contact_model, {"share": 0.1, "impratio": (1.0, 100.0)}),
    "latency": (mdp.randomize_latency, {"low": 0, "high": 1}),
}
"""What differs between worlds in training with `robust`. All joints share a draw: their own would cancel out. The world
in the middle is the robot's own: around another one, it is learnt less well."""
_ROBUST = {
    **{f"env.events.{name}": EventTermCfg(f, mode="startup", params=p) for name, (f, p) in _RANDOM.items()},
    **{f"env.observations.{group}.history": 5 for group in ("policy", "critic")},  # shows which world it is
}
FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        **_cpu(620, _SMALL),
        **_TO_WALK,
        "env.rewards.alive": RewardTermCfg(mdp.alive, weight=3.0, ramp=ramp(1.0, 0.0, 20, hold=590)),
        **steady(GO1, every=(3.0, 9.0)),
        f"env.commands.{COMMAND}.forward_share": 0.0,  # or steps straight back are slow; single axes include forwards
        "agent.actor.distribution.final_std": 0.15,
        "agent.algorithm.decay_entropy": True,
        "agent.algorithm.symmetry": _EXACT,
    },
    # To be started from a policy that walks and still explores: in worlds that differ from the start, none is found.
    "robust": {
        **_long(2500),
        **_ROBUST,
        "env.rewards.alive": RewardTermCfg(mdp.alive, weight=2.0, ramp=ramp(1.0, 0.0, 20, hold=2400)),
    },
    "long": {
        **_long(3000),
        **_TO_WALK,
        "env.rewards.alive": RewardTermCfg(mdp.alive, weight=2.0, ramp=ramp(1.0, 0.0, 20, hold=2800)),
    },
    "spo": {
        "agent.algorithm": "spo",
        **_cpu(390, _SMALL),
        **_shaping(180),
        # SPO bounds its ratios smoothly, so its steps are shorter than those of PPO with the same settings.
        "agent.algorithm.clip_param": 0.6,
        "agent.algorithm.max_learning_rate": 1e-2,
    },
}
_ROUGH_CPU = {
    **_long(2000),
    "env.rewards.progress": RewardTermCfg(mdp.progress, weight=1.0, params=_SHARE, ramp=ramp(1.0, 0.0, 20, hold=1800)),
    "env.rewards.alive": RewardTermCfg(mdp.alive, weight=3.0, ramp=ramp(1.0, 0.0, 20, hold=1900)),
}
ROUGH_PRESETS: dict[str, dict[str, Any]] = {"cpu": _ROUGH_CPU, "robust": {**_ROUGH_CPU, **_ROBUST}}
"""To be started from a policy for flat ground that still explores (docs/go1-study.md)."""
