"""What four-legged robots share in the velocity tasks: rewards, and how they learn to walk on few cores."""

from collections.abc import Callable
from typing import Any

from genelab import mdp
from genelab.envs import EventTermCfg, RampCfg, RewardTermCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg
from genelab.tasks.velocity.builder import COMMAND, VelocityRobot


def rewards(*, feet: str, feet_sites: tuple[str, ...], legs: str, height: float) -> dict[str, RewardTermCfg]:
    """The published rewards.

    `feet` and `legs` are the contact sensors of what should and what should not touch the ground; `height` is that of
    the trunk, metres.
    """
    command, steps = {"command": COMMAND}, {"feet": feet, "command": COMMAND}
    return {
        "track_lin_vel": RewardTermCfg(mdp.track_lin_vel, weight=2.0, params={**command, "variance": 0.25}),
        "track_ang_vel": RewardTermCfg(mdp.track_ang_vel, weight=1.0, params={**command, "variance": 0.25}),
        "air_time": RewardTermCfg(
            mdp.feet_air_time, weight=0.25, params={**steps, "low": 0.1, "high": 0.5, "threshold": 0.1}
        ),
        "lin_vel_z": RewardTermCfg(mdp.lin_vel_z_l2, weight=-2.0),
        "ang_vel_xy": RewardTermCfg(mdp.ang_vel_xy_l2, weight=-0.05),
        "tilt": RewardTermCfg(mdp.tilt_l2, weight=-1.0),
        "height": RewardTermCfg(mdp.base_height_l2, weight=-1.0, params={"height": height}),
        "torque": RewardTermCfg(mdp.actuator_force_l2, weight=-2e-4),
        "joint_acc": RewardTermCfg(mdp.JointAccL2, weight=-1e-5),
        "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.01),
        "joint_limits": RewardTermCfg(mdp.joint_limits, weight=-1.0),
        "thigh_contact": RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": legs}),
        "slip": RewardTermCfg(mdp.feet_slip, weight=-0.1, params={**steps, "sites": feet_sites, "threshold": 0.05}),
    }


def shaping(feet: str, iterations: int) -> dict[str, Any]:
    """What leads out of standing still, as changes by a preset; gone after twice so many iterations (see docs).

    Progress along the command and a trot pay at first; penalties on joint accelerations and changes of action come in
    slowly; commands are small for half as long. Progress stays twice as long as the rest: slow commands and turns are
    learnt last.
    """
    steps = iterations * RslRlOnPolicyRunnerCfg().num_steps_per_env
    fade, late = (RampCfg(start=1.0, end=0.0, steps=n * steps) for n in (1, 2))
    trot = {"feet": feet, "command": COMMAND, "threshold": 0.1}
    share = {"command": COMMAND, "smallest": 0.3}
    return {
        "env.rewards.progress": RewardTermCfg(mdp.progress, weight=2.0, params=share, ramp=late),
        "env.rewards.trot": RewardTermCfg(mdp.trot, weight=2.0, params=trot, ramp=fade),
        "env.rewards.joint_acc.ramp": RampCfg(start=0.05, end=1.0, steps=steps),
        "env.rewards.action_rate.ramp": RampCfg(start=0.05, end=1.0, steps=steps),
        f"env.commands.{COMMAND}.ramp": RampCfg(start=0.3, end=1.0, steps=steps // 2),
    }


def cpu_preset(robot: VelocityRobot, worlds: int, iterations: int, layers: tuple[int, ...]) -> dict[str, Any]:
    """Small networks, few worlds, larger steps of physics and of learning, and the robot's symmetry."""
    return {
        "env.num_envs": worlds,
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
        "agent.algorithm.symmetry": RslRlSymmetryCfg(table=robot.mirror),
    }


def robust(*, feet: str, trunk: str) -> dict[str, Any]:
    """What differs from world to world in training, as changes by a preset; evaluation is without it.

    `feet` matches the geoms that walk, by their names in the scene, and `trunk` is the body that may carry something.
    One draw holds for all joints of a robot: draws of their own would cancel out.
    """
    joints: dict[str, Any] = {"low": 0.4, "high": 2.6, "shared": True}
    soft = {"time_constant": (1.0, 2.0), "impedance": (0.2, 0.9), "depth": (0.001, 0.015)}
    table: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
        "gains": (mdp.randomize_gains, {"low": 0.7, "high": 1.35, "shared": True}),
        "damping": (mdp.randomize_joints, {"field": "joint_damping", **joints}),
        "dry_friction": (mdp.randomize_joints, {"field": "joint_friction", **joints}),
        "mass": (mdp.randomize_mass, {"bodies": ".*", "low": 0.9, "high": 1.4, "operation": "scale", "shared": True}),
        "com": (mdp.randomize_com, {"bodies": trunk, "offset": (0.03, 0.03, 0.03)}),
        "friction": (mdp.randomize_friction, {"geoms": feet, "low": 0.4, "high": 1.2}),
        "contacts": (mdp.randomize_contacts, {"geoms": f"{feet}|ground", **soft}),
        "contact_model": (mdp.randomize_contact_model, {"share": 0.1, "impratio": (1.0, 100.0)}),
        "latency": (mdp.randomize_latency, {"low": 0, "high": 1}),
    }
    return {
        f"env.events.{name}": EventTermCfg(func, mode="startup", params=params)
        for name, (func, params) in table.items()
    }
