"""The Unitree G1 follows a velocity command."""

from typing import Any

from genelab import mdp
from genelab.envs import CurriculumTermCfg, EventTermCfg, ManagerBasedRlEnvCfg, ObservationTermCfg
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.scene.robots.g1 import ACTION_SCALES, MIRROR, SIDES, g1
from genelab.scene.terrain_shapes import LARGE_SIZES
from genelab.sensors import ContactSensorCfg
from genelab.tasks.velocity import biped
from genelab.tasks.velocity.builder import COMMAND, VelocityRobot, flat_agent, rough_agent, velocity

FEET = tuple(f"{side}_foot" for side in SIDES)
"""Sites, at the ankles: 35 mm above the soles."""
LIMBS = tuple(f"robot/{side}_{part}_pitch_link" for part in ("hip", "shoulder") for side in SIDES)

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

G1 = VelocityRobot(
    robot=g1,
    mirror=MIRROR,
    sensors={
        "feet": ContactSensorCfg(
            sides=tuple(f"robot/{side}_ankle_roll_link" for side in SIDES), other="ground", other_kind="geom"
        ),
        "self": ContactSensorCfg(
            sides=LIMBS, kind="subtree", other="robot/pelvis", other_kind="subtree", threshold=10.0
        ),
    },
    actions={"joints": JointPositionActionCfg(scale=dict(ACTION_SCALES))},
    command=VelocityCommandCfg(resampling_s=(3.0, 8.0), ang_z=(-0.5, 0.5), forward_share=0.2),
    rewards=biped.rewards(
        feet="feet", feet_sites=FEET, torso="torso_link", body="self", walking=WALKING, running=RUNNING
    ),
    critic={
        "feet_height": ObservationTermCfg(mdp.feet_height, params={"sites": FEET}),
        "feet_air_time": ObservationTermCfg(mdp.contact_air_time, params={"sensor": "feet"}),
        "feet_contact": ObservationTermCfg(mdp.contact_found, params={"sensor": "feet"}),
        "feet_force": ObservationTermCfg(mdp.contact_force_log, params={"sensor": "feet"}),
    },
    push={"xy": 0.5, "yaw": 0.78, "z": 0.4, "tilt": 0.52},
    randomize={
        "foot_friction": EventTermCfg(
            mdp.randomize_friction, mode="startup", params={"geoms": "robot/.*_foot_.", "low": 0.3, "high": 1.2}
        ),
        "torso_com": EventTermCfg(
            mdp.randomize_com, mode="startup", params={"bodies": "torso_link", "offset": (0.025, 0.025, 0.03)}
        ),
        "encoder_bias": EventTermCfg(mdp.randomize_encoder_bias, mode="startup", params={"half_width": 0.015}),
    },
    curriculum={
        "commands": CurriculumTermCfg(
            mdp.velocity_curriculum,
            params={
                "command": COMMAND,
                "stages": (
                    (120_000, "lin_x", -1.5, 2.0),
                    (120_000, "ang_z", -0.7, 0.7),
                    (240_000, "lin_x", -2.0, 3.0),
                ),
            },
        )
    },
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


def rough_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the G1 on rough ground: no entropy bonus, the network's own standard deviation within [0.3, 2]."""
    return rough_agent(max_iterations=6000)


FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {**biped.cpu_preset(G1, worlds=512, iterations=1200), **biped.shaping(G1, "feet", iterations=600)},
    "long": {**biped.cpu_preset(G1, worlds=1024, iterations=4000), **biped.shaping(G1, "feet", iterations=1000)},
}
# The standard deviation as on flat ground, where the policy comes from.
_FLAT_STD = {"agent.actor.distribution.state_dependent": False}
ROUGH_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {**biped.cpu_preset(G1, worlds=512, iterations=1200), **_FLAT_STD},
    "long": {**biped.cpu_preset(G1, worlds=1024, iterations=4000), **_FLAT_STD},
}
"""To be started from a policy for flat ground: ``--checkpoint <run>/model_final.pt``."""
