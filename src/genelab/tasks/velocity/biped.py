"""What two-legged robots share in the velocity tasks: rewards, and how they learn to walk on few cores."""

from typing import Any

from genelab import mdp
from genelab.envs import DoneTermCfg, RampCfg, RewardTermCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg
from genelab.tasks.velocity.builder import COMMAND, VelocityRobot, pushes


def rewards(
    *,
    feet: str,
    feet_sites: tuple[str, ...],
    torso: str,
    body: str,
    walking: dict[str, float],
    running: dict[str, float],
) -> dict[str, RewardTermCfg]:
    """The published rewards.

    `feet` and `body` are the contact sensors of the feet on the ground and of the robot's limbs against itself;
    `walking` and `running` say how far joints may be from the default pose.
    """
    command, steps = {"command": COMMAND}, {"command": COMMAND, "threshold": 0.05}
    sites, pose = {"sites": feet_sites}, {"walking": walking, "running": running}
    return {
        "track_lin_vel": RewardTermCfg(mdp.track_lin_vel_level, weight=2.0, params={**command, "variance": 0.25}),
        "track_ang_vel": RewardTermCfg(mdp.track_ang_vel_level, weight=2.0, params={**command, "variance": 0.5}),
        "upright": RewardTermCfg(mdp.upright, weight=1.0, params={"body": torso, "variance": 0.2}),
        "pose": RewardTermCfg(mdp.Pose, weight=1.0, params={**command, **pose}),
        "air_time": RewardTermCfg(
            mdp.feet_air_time, weight=1.0, params={**command, "feet": feet, "low": 0.05, "high": 0.5, "threshold": 0.5}
        ),
        "torso_ang_vel": RewardTermCfg(mdp.body_ang_vel_xy_l2, weight=-0.05, params={"body": torso}),
        "angular_momentum": RewardTermCfg(mdp.angular_momentum_l2, weight=-0.02),
        "joint_limits": RewardTermCfg(mdp.joint_limits, weight=-1.0),
        "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.1),
        "clearance": RewardTermCfg(mdp.feet_clearance, weight=-2.0, params={**steps, **sites, "height": 0.1}),
        "swing_height": RewardTermCfg(
            mdp.FeetSwingHeight, weight=-1.0, params={**steps, **sites, "feet": feet, "height": 0.1}
        ),
        "slip": RewardTermCfg(mdp.feet_slip, weight=-0.1, params={**steps, **sites, "feet": feet}),
        "landing_force": RewardTermCfg(mdp.landing_force, weight=-1e-5, params={**steps, "feet": feet}),
        "self_collision": RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": body}),
    }


def shaping(robot: VelocityRobot, feet: str, iterations: int) -> dict[str, Any]:
    """What leads to the first steps, as changes by a preset; gone after so many iterations (docs/g1-study.md).

    Progress along the command, standing on one foot and not falling pay at first; penalties on unsteady motion come in
    slowly; commands are small for half as long; pushes come when the rest is gone. Only episodes that cannot be saved
    end early throughout.
    """
    steps = iterations * RslRlOnPolicyRunnerCfg().num_steps_per_env
    fade = RampCfg(start=1.0, end=0.0, steps=steps)
    step = {"feet": feet, "command": COMMAND, "threshold": 0.1}
    slowly = ("action_rate", "clearance", "swing_height", "angular_momentum", "torso_ang_vel")
    return {
        "env.rewards.progress": RewardTermCfg(mdp.progress, weight=4.0, params={"command": COMMAND}, ramp=fade),
        "env.rewards.single_support": RewardTermCfg(mdp.single_support, weight=2.0, params=step, ramp=fade),
        "env.rewards.alive": RewardTermCfg(mdp.alive, weight=1.0, ramp=fade),
        **{f"env.rewards.{name}.ramp": RampCfg(start=0.05, end=1.0, steps=steps) for name in slowly},
        "env.events.push": pushes(robot, after=steps),
        "env.terminations.low": DoneTermCfg(mdp.root_below, params={"height": 0.5}),
        "env.terminations.leaning": DoneTermCfg(mdp.tilted, params={"limit": 0.7}),
        f"env.commands.{COMMAND}.ramp": RampCfg(start=0.3, end=1.0, steps=steps // 2),
    }


def cpu_preset(robot: VelocityRobot, worlds: int, iterations: int) -> dict[str, Any]:
    """Small networks, few worlds, larger steps of physics and of learning, and the robot's symmetry."""
    return {
        "env.num_envs": worlds,
        "env.simulation.dt": 0.02 / 3,
        "env.decimation": 3,
        "agent.max_iterations": iterations,
        "agent.actor.hidden_dims": (128, 128, 128),
        "agent.actor.distribution.init_std": 0.5,
        "agent.critic.hidden_dims": (128, 128, 128),
        "agent.algorithm.num_learning_epochs": 4,
        "agent.algorithm.max_learning_rate": 3e-3,
        "agent.algorithm.decay_learning_rate": True,
        "agent.algorithm.desired_kl": 0.05,  # of 29 actions together
        "agent.algorithm.entropy_coef": 0.002,
        "agent.algorithm.symmetry": RslRlSymmetryCfg(table=robot.mirror),
    }
