"""The Unitree Go1 follows a velocity command."""

import math
from typing import Any

from genelab import mdp
from genelab.envs import (
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RewardTermCfg,
    SimulationCfg,
    SuccessTermCfg,
)
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg
from genelab.scene.robots.go1 import LEGS, go1
from genelab.scene.scene import ContactSensorCfg, SceneCfg

FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGHS = tuple(f"{leg}_thigh" for leg in LEGS)
COMMAND = "velocity"
SHAPING = {"threshold": 0.1, "fade_steps": 2400}
"""Of the trot reward that helps the first steps: switched on by the cpu preset, in training only, gone half way."""


def flat(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on flat ground, 50 Hz, 20 s, with what the real robot can measure.

    | actions (12) | meaning |
    | --- | --- |
    | legs | default joint position + 0.25 action, radians, through servos with kp 25, kd 0.5 |

    | observations (45) | size | noise (actor only) |
    | --- | --- | --- |
    | angular velocity of the trunk, own frame | 3 | ±0.2 |
    | direction of gravity, trunk's frame | 3 | ±0.05 |
    | joint positions, relative to the default pose | 12 | ±0.01 |
    | joint velocities | 12 | ±1.5 |
    | last action | 12 | |
    | command: forward, left, yaw rate | 3 | |
    | velocity of the trunk, own frame (critic only) | 3 | |

    | rewards (times the control step) | weight |
    | --- | --- |
    | exp(-abs(horizontal velocity error)² / 0.25) | 2 |
    | exp(-(yaw rate error)² / 0.25) | 1 |
    | feet in the air for 0.1 to 0.5 s (command above 0.1) | 0.25 |
    | vertical velocity² | -2 |
    | roll and pitch rates² | -0.05 |
    | horizontal gravity in the trunk's frame² | -1 |
    | (height - 0.34 m)² | -1 |
    | torques² | -0.0002 |
    | joint accelerations² | -0.00001 |
    | (change of action)² | -0.01 |
    | joints beyond their limits | -1 |
    | a thigh touches | -1 |
    | feet slip² (command above 0.05) | -0.1 |

    | ends | |
    | --- | --- |
    | tilted | more than 70 degrees |
    | time-out | 20 s; a success if it is reached |

    | events and commands | |
    | --- | --- |
    | command | every U(3, 8) s: U(-1, 1) each; 10 % stand, 10 % straight ahead |
    | reset | position U(-0.5, 0.5) m, yaw U(-π, π) |
    | push (training only) | every U(1, 3) s horizontal velocity U(-0.5, 0.5) m/s, yaw rate U(-0.5, 0.5) rad/s |
    """
    command, feet = {"command": COMMAND}, {"feet": FEET, "command": COMMAND}
    shaping = {} if play else {"trot": RewardTermCfg(mdp.trot, weight=0.0, params={**feet, **SHAPING})}
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(robots={"robot": go1()}, contact_sensors=_contact_sensors()),
        simulation=SimulationCfg(dt=0.002),
        num_envs=64 if play else 4096,
        decimation=10,
        episode_length_s=20.0,
        actions={"legs": JointPositionActionCfg(scale=0.25)},
        commands={COMMAND: VelocityCommandCfg(resampling_s=(3.0, 8.0))},
        observations=_observations(),
        rewards={
            "track_lin_vel": RewardTermCfg(mdp.track_lin_vel, weight=2.0, params={**command, "variance": 0.25}),
            "track_ang_vel": RewardTermCfg(mdp.track_ang_vel, weight=1.0, params={**command, "variance": 0.25}),
            "air_time": RewardTermCfg(
                mdp.feet_air_time, weight=0.25, params={**feet, "low": 0.1, "high": 0.5, "threshold": 0.1}
            ),
            "lin_vel_z": RewardTermCfg(mdp.lin_vel_z_l2, weight=-2.0),
            "ang_vel_xy": RewardTermCfg(mdp.ang_vel_xy_l2, weight=-0.05),
            "tilt": RewardTermCfg(mdp.tilt_l2, weight=-1.0),
            "height": RewardTermCfg(mdp.base_height_l2, weight=-1.0, params={"height": 0.34}),
            "torque": RewardTermCfg(mdp.actuator_force_l2, weight=-2e-4),
            "joint_acc": RewardTermCfg(mdp.JointAccL2, weight=-1e-5),
            "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.01),
            "joint_limits": RewardTermCfg(mdp.joint_limits, weight=-1.0),
            "thigh_contact": RewardTermCfg(mdp.any_contact, weight=-1.0, params={"sensors": THIGHS}),
            "slip": RewardTermCfg(mdp.feet_slip, weight=-0.1, params={**feet, "sites": LEGS, "threshold": 0.05}),
            **shaping,
        },
        terminations={
            "time_out": DoneTermCfg(mdp.time_out, time_out=True),
            "tilted": DoneTermCfg(mdp.tilted, params={"limit": math.radians(70.0)}),
        },
        events=_events(play),
        metrics={
            "lin_vel_error": MetricTermCfg(mdp.lin_vel_error, params=command),
            "ang_vel_error": MetricTermCfg(mdp.ang_vel_error, params=command),
        },
        success=SuccessTermCfg(mdp.survived),
        camera="robot/chase",
    )


def flat_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on flat ground: 512-256-128, 3000 iterations."""
    hidden_dims = (512, 256, 128)
    return RslRlOnPolicyRunnerCfg(
        max_iterations=3000,
        actor=RslRlModelCfg(hidden_dims=hidden_dims, distribution=RslRlDistributionCfg(init_std=1.0)),
        critic=RslRlModelCfg(hidden_dims=hidden_dims),
    )


FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        "env.num_envs": 1024,
        "env.simulation.dt": 0.005,
        "env.decimation": 4,
        "agent.max_iterations": 250,
        "agent.actor.hidden_dims": (128, 128, 128),
        "agent.critic.hidden_dims": (128, 128, 128),
        "agent.algorithm.num_learning_epochs": 3,
    }
}


def _contact_sensors() -> dict[str, ContactSensorCfg]:
    return {
        name: ContactSensorCfg(side=f"robot/{name}", kind="geom", other="ground", other_kind="geom")
        for name in (*FEET, *THIGHS)
    }


def _observations() -> dict[str, ObservationGroupCfg]:
    def terms() -> dict[str, ObservationTermCfg]:
        return {
            "ang_vel": ObservationTermCfg(mdp.base_ang_vel, noise=0.2),
            "gravity": ObservationTermCfg(mdp.projected_gravity, noise=0.05),
            "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.01),
            "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=1.5),
            "last_action": ObservationTermCfg(mdp.last_action),
            "command": ObservationTermCfg(mdp.generated_command, params={"command": COMMAND}),
        }

    return {
        "policy": ObservationGroupCfg(terms=terms(), noise=True),
        "critic": ObservationGroupCfg(terms={**terms(), "lin_vel": ObservationTermCfg(mdp.base_lin_vel)}),
    }


def _events(play: bool) -> dict[str, EventTermCfg]:
    events = {"place": EventTermCfg(mdp.place_root, params={"xy": 0.5})}
    if not play:
        events["push"] = EventTermCfg(
            mdp.push_root, mode="interval", interval_s=(1.0, 3.0), params={"xy": 0.5, "yaw": 0.5}
        )
    return events
