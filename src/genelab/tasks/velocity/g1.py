"""The Unitree G1 follows a velocity command: the published task, and how it is learnt on few cores."""

from typing import Any

from genelab import envs, mdp
from genelab.envs import EventTermCfg, ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg, RslRlSymmetryCfg
from genelab.scene.robots.g1 import ACTION_SCALES, MIRROR, SIDES, g1
from genelab.scene.terrain_shapes import LARGE_SIZES
from genelab.sensors import ContactSensorCfg
from genelab.tasks.velocity.builder import COMMAND, STEPS, VelocityRobot, flat_agent, pushes, ramp, steady, velocity
from genelab.tasks.velocity.builder import rough_ppo as rough_ppo

FEET = tuple(f"{side}_foot" for side in SIDES)
"""Sites, at the ankles: 35 mm above the soles."""
ANKLES = tuple(f"robot/{side}_ankle_roll_link" for side in SIDES)
LIMBS = tuple(f"robot/{side}_{part}_pitch_link" for part in ("hip", "shoulder") for side in SIDES)
TORSO = "torso_link"
STAGES = ((120_000, "lin_x", -1.5, 2.0), (120_000, "ang_z", -0.7, 0.7), (240_000, "lin_x", -2.0, 3.0))
"""From which control step of a training on commands are drawn from which range."""
SIGMAS = {
    "hip_pitch": (0.3, 0.5),
    "hip_roll": (0.15, 0.2),
    "hip_yaw": (0.15, 0.2),
    "knee": (0.35, 0.6),
    "ankle_pitch": (0.25, 0.35),
    "ankle_roll": (0.1, 0.15),
    "waist_yaw": (0.2, 0.3),
    "waist_roll": (0.08, 0.08),
    "waist_pitch": (0.1, 0.2),
    "shoulder_pitch": (0.15, 0.5),
    "shoulder_roll": (0.15, 0.2),
    "shoulder_yaw": (0.1, 0.15),
    "elbow": (0.15, 0.35),
    "wrist": (0.3, 0.3),
}
"""How far joints may be from the default pose when walking and when running, rad."""
WALKING, RUNNING = ({joint: sigmas[gait] for joint, sigmas in SIGMAS.items()} for gait in range(2))
_COMMAND, _STEP = {"command": COMMAND}, {"command": COMMAND, "threshold": 0.05}
_AIR = {**_COMMAND, "feet": "feet", "low": 0.05, "high": 0.5, "threshold": 0.5}
_LIFT = {**_STEP, "sites": FEET, "height": 0.1}
_FRICTION = {"geoms": "robot/.*_foot_.", "low": 0.3, "high": 1.2}
_COM = {"bodies": TORSO, "offset": (0.025, 0.025, 0.03)}
G1 = VelocityRobot(
    robot=g1,
    sensors={
        "feet": ContactSensorCfg(sides=ANKLES, other="ground", other_kind="geom"),
        "self": ContactSensorCfg(
            sides=LIMBS, kind="subtree", other="robot/pelvis", other_kind="subtree", threshold=10.0
        ),
    },
    actions={"joints": JointPositionActionCfg(scale=dict(ACTION_SCALES))},
    command=VelocityCommandCfg(resampling_s=(3.0, 8.0), ang_z=(-0.5, 0.5), forward_share=0.2),
    rewards={
        "track_lin_vel": RewardTermCfg(mdp.track_lin_vel_level, weight=2.0, params={**_COMMAND, "variance": 0.25}),
        "track_ang_vel": RewardTermCfg(mdp.track_ang_vel_level, weight=2.0, params={**_COMMAND, "variance": 0.5}),
        "upright": RewardTermCfg(mdp.upright, weight=1.0, params={"body": TORSO, "variance": 0.2}),
        "pose": RewardTermCfg(mdp.Pose, weight=1.0, params={**_COMMAND, "walking": WALKING, "running": RUNNING}),
        "air_time": RewardTermCfg(mdp.feet_air_time, weight=1.0, params=_AIR),
        "torso_ang_vel": RewardTermCfg(mdp.body_ang_vel_xy_l2, weight=-0.05, params={"body": TORSO}),
        "angular_momentum": RewardTermCfg(mdp.angular_momentum_l2, weight=-0.02),
        "joint_limits": RewardTermCfg(mdp.joint_limits, weight=-1.0),
        "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.1),
        "clearance": RewardTermCfg(mdp.feet_clearance, weight=-2.0, params=_LIFT),
        "swing_height": RewardTermCfg(mdp.FeetSwingHeight, weight=-1.0, params={**_LIFT, "feet": "feet"}),
        "slip": RewardTermCfg(mdp.feet_slip, weight=-0.1, params={**_STEP, "sites": FEET, "feet": "feet"}),
        "landing_force": RewardTermCfg(mdp.landing_force, weight=-1e-5, params={**_STEP, "feet": "feet"}),
        "self_collision": RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensor": "self"}),
    },
    critic={
        "feet_height": ObservationTermCfg(mdp.feet_height, params={"sites": FEET}),
        "feet_air_time": ObservationTermCfg(mdp.contact_air_time, params={"sensor": "feet"}),
        "feet_contact": ObservationTermCfg(mdp.contact_found, params={"sensor": "feet"}),
        "feet_force": ObservationTermCfg(mdp.contact_force_log, params={"sensor": "feet"}),
    },
    push={"xy": 0.5, "yaw": 0.78, "z": 0.4, "tilt": 0.52},
    randomize={
        "foot_friction": EventTermCfg(mdp.randomize_friction, mode="startup", params=_FRICTION),
        "torso_com": EventTermCfg(mdp.randomize_com, mode="startup", params=_COM),
        "encoder_bias": EventTermCfg(mdp.randomize_encoder_bias, mode="startup", params={"half_width": 0.015}),
    },
    curriculum={"commands": envs.CurriculumTermCfg(mdp.velocity_curriculum, params={**_COMMAND, "stages": STAGES})},
    terrain_sizes=LARGE_SIZES,
)


def flat(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on flat ground, on two legs.

    The command is a velocity forwards and to the left and a yaw rate, in the robot's own frame; it gets faster as
    training goes on. The actor sees what the real robot can measure: angular velocity, direction of gravity and joints;
    the critic also sees the velocity and its feet. In play and evaluation commands are those that training begins with.
    """
    return velocity(G1, play=play)


def rough(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on stairs, boxes, rough ground and slopes, seeing the heights of the ground around.

    As on flat ground, on a grid of cells that get harder from row to row. In training all robots start on the first
    row, which is flat, and move to harder cells when they get far. In play and evaluation they are spread evenly over
    all rows and stay there.
    """
    cfg = velocity(G1, rough=True, play=play)
    # Stairs ask for feet that go higher than over flat ground.
    cfg.rewards["clearance"].weight, cfg.rewards["swing_height"].weight = -0.5, -0.25
    return cfg


def flat_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the G1 on flat ground: 512-256-128, 30,000 iterations."""
    cfg = flat_agent(max_iterations=30_000)
    cfg.algorithm.entropy_coef = 0.01
    return cfg


def _nearness(fade: int, weight: float, hold: int = 0, after: int = 0) -> RewardTermCfg:
    """Being near to the command pays: in full for `hold` iterations, then less and less for `fade` iterations."""
    params = {**_COMMAND, "smallest": 0.3, "over": 0.5}
    return RewardTermCfg(mdp.Nearness, weight=weight, params=params, ramp=ramp(1.0, 0.0, fade, hold=hold, after=after))


def _shaping(iterations: int, near: int) -> dict[str, Any]:
    """What leads to the first steps, gone after so many iterations, and then to exact ones (docs/g1-study.md).

    Progress along the command, standing on one foot and not falling pay at first; penalties come in slowly; commands
    are small for half as long; pushes come when the rest is gone. From then on, being near to the command pays for
    `near` iterations and fades in 20: without it turns get slow again within a hundred.
    """
    fade, step = ramp(1.0, 0.0, iterations), {"feet": "feet", "command": COMMAND, "threshold": 0.1}
    slowly = ("action_rate", "clearance", "swing_height", "angular_momentum", "torso_ang_vel")
    return {
        "env.rewards.progress": RewardTermCfg(mdp.progress, weight=4.0, params=_COMMAND, ramp=fade),
        "env.rewards.single_support": RewardTermCfg(mdp.single_support, weight=2.0, params=step, ramp=fade),
        "env.rewards.alive": RewardTermCfg(mdp.alive, weight=1.0, ramp=fade),
        "env.rewards.nearness": _nearness(20, weight=3.0, hold=near, after=iterations),
        **{f"env.rewards.{name}.ramp": ramp(0.05, 1.0, iterations) for name in slowly},
        **steady(G1, every=(3.0, 9.0), after=iterations * STEPS),
        f"env.commands.{COMMAND}.ramp": ramp(0.3, 1.0, iterations // 2),
        f"env.commands.{COMMAND}.forward_share": 0.1,  # with 0.2, steps backwards are learnt last
    }


def _cpu(iterations: int) -> dict[str, Any]:
    """Small networks, few worlds, larger steps of physics and of learning, and the robot's symmetry.

    Episodes also end where the robot cannot be saved any more.
    """
    return {
        "env.num_envs": 512,
        "env.terminations.low": envs.DoneTermCfg(mdp.root_below, params={"height": 0.5}),
        "env.terminations.leaning": envs.DoneTermCfg(mdp.tilted, params={"limit": 0.7}),
        "env.simulation.dt": 0.02 / 3,
        "env.decimation": 3,
        "env.simulation.jacobian": "sparse",  # 1.09 times as fast, and the same up to rounding
        "agent.max_iterations": iterations,
        "agent.actor.hidden_dims": (128, 128, 128),
        "agent.actor.distribution.init_std": 0.5,
        "agent.critic.hidden_dims": (128, 128, 128),
        "agent.algorithm.num_learning_epochs": 4,
        "agent.algorithm.max_learning_rate": 3e-3,
        "agent.algorithm.decay_learning_rate": True,
        "agent.algorithm.desired_kl": 0.05,  # of 29 actions together
        "agent.algorithm.entropy_coef": 0.002,
        "agent.algorithm.symmetry": RslRlSymmetryCfg(table=MIRROR),
    }


def _climbing(iterations: int) -> dict[str, Any]:
    """What leads a policy for flat ground up stairs, gone after so many iterations (docs/g1-study.md).

    The task asks for soles that get 65 mm above the ground, which is less than a stair. Feet that get as high as a
    stair pay at first, and so does being near to the command, because a slow robot stays on easy ground.
    """
    fade, high = ramp(1.0, 0.0, iterations), {**_LIFT, "feet": "feet", "height": 0.2}
    return {
        "env.rewards.lift": RewardTermCfg(mdp.FeetSwingHeight, weight=-10.0, params=high, ramp=fade),
        "env.rewards.nearness": _nearness(iterations, weight=2.0),
    }


# With little noise mirror images count only where the policy is its own mirror image.
_SYMMETRIC = RslRlSymmetryCfg(table=MIRROR, mirror_loss=0.1)
FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        **_cpu(1500),
        **_shaping(600, near=875),
        # Noise leads out of standing still; what is learnt last is learnt with little.
        "agent.actor.distribution.final_std": 0.08,
        "agent.actor.distribution.final_std_between": (0.4, 0.8),
        "agent.algorithm.decay_entropy": True,
        "agent.algorithm.symmetry": _SYMMETRIC,
    },
    # To be started from a policy of `cpu` that walks and still explores: model_600.pt (docs/g1-study.md).
    "long": {
        **_cpu(1500),
        "env.num_envs": 1024,
        "agent.algorithm.max_learning_rate": 1e-3,
        "agent.algorithm.decay_entropy": True,
        "agent.algorithm.symmetry": _SYMMETRIC,
        "agent.actor.distribution.init_std": 0.3,
        "agent.actor.distribution.final_std": 0.1,
        "agent.actor.distribution.final_std_between": (0.5, 0.8),
        "env.events.push": pushes(G1, every=(4.0, 12.0)),  # more of them hide what a robot gains or loses slowly
    },
}
_ROUGH = {
    # The standard deviation as in the policy that the training begins with, within the published bounds.
    "agent.actor.distribution.state_dependent": False,
    "agent.algorithm.entropy_coef": 0.0,
}
ROUGH_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {**_cpu(1200), **_climbing(1100), **_ROUGH},
    "long": {**_cpu(2400), **_climbing(2200), **_ROUGH},
}
"""To be started from a policy for flat ground: ``--checkpoint <run>/model_final.pt``."""
