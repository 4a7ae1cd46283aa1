"""The Unitree Go1 follows a velocity command."""

import math
from typing import Any

from genelab import mdp
from genelab.envs import (
    CurriculumTermCfg,
    DoneTermCfg,
    EventTermCfg,
    ManagerBasedRlEnvCfg,
    MetricTermCfg,
    ObservationGroupCfg,
    ObservationTermCfg,
    RampCfg,
    RewardTermCfg,
    SimulationCfg,
    SuccessTermCfg,
)
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import (
    RslRlDistributionCfg,
    RslRlModelCfg,
    RslRlOnPolicyRunnerCfg,
    RslRlPpoCfg,
    RslRlSymmetryCfg,
)
from genelab.scene.robots.go1 import LEGS, MIRROR, go1
from genelab.scene.scene import ContactSensorCfg, GroundCfg, SceneCfg
from genelab.scene.terrain import TerrainCfg

FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGHS = tuple(f"{leg}_thigh" for leg in LEGS)
COMMAND = "velocity"


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

    | shaping (training, cpu preset; fades to nothing) | weight at the start |
    | --- | --- |
    | speed along the command, up to the commanded one, and the same of the yaw rate | 4 |
    | one diagonal pair of feet on the ground, the other in the air (command above 0.1) | 2 |
    | joint accelerations² and (change of action)² count less than in the task | 0.05 of their weight |
    | commands are smaller, for half as long | 0.3 of their range |

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
    shaping = {} if play else _shaping(command, feet)

    def ramp(start: float) -> RampCfg | None:
        return None if play else RampCfg(start=start, end=1.0)

    return ManagerBasedRlEnvCfg(
        # A contact has the larger friction of its two sides: at zero, the ground leaves it to the robot's feet.
        scene=SceneCfg(robots={"robot": go1()}, ground=GroundCfg(friction=0.0), contact_sensors=_contact_sensors()),
        simulation=SimulationCfg(dt=0.002),
        num_envs=64 if play else 4096,
        decimation=10,
        episode_length_s=20.0,
        actions={"legs": JointPositionActionCfg(scale=0.25)},
        commands={COMMAND: VelocityCommandCfg(resampling_s=(3.0, 8.0), ramp=ramp(0.3))},
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
            "joint_acc": RewardTermCfg(mdp.JointAccL2, weight=-1e-5, ramp=ramp(0.05)),
            "action_rate": RewardTermCfg(mdp.action_rate_l2, weight=-0.01, ramp=ramp(0.05)),
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


def _cpu(worlds: int, iterations: int, shaped: int) -> dict[str, Any]:
    """Small networks and few worlds, mirror symmetry, and shaping that is gone after `shaped` iterations."""
    steps = shaped * RslRlOnPolicyRunnerCfg().num_steps_per_env
    return {
        "env.num_envs": worlds,
        "env.simulation.dt": 0.005,
        "env.decimation": 4,
        **{f"env.rewards.{name}.ramp.steps": steps for name in ("progress", "trot", "joint_acc", "action_rate")},
        f"env.commands.{COMMAND}.ramp.steps": steps // 2,
        "agent.max_iterations": iterations,
        "agent.actor.hidden_dims": (128, 128, 128),
        "agent.critic.hidden_dims": (128, 128, 128),
        "agent.algorithm.num_learning_epochs": 4,
        "agent.algorithm.max_learning_rate": 3e-3,
        "agent.algorithm.decay_learning_rate": True,
        "agent.algorithm.desired_kl": 0.02,
        "agent.algorithm.symmetry": RslRlSymmetryCfg(table=MIRROR),
    }


FLAT_PRESETS: dict[str, dict[str, Any]] = {"cpu": _cpu(worlds=512, iterations=300, shaped=150)}


def rough(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Follow a velocity command on stairs, boxes, rough ground and slopes, 50 Hz, 20 s, seeing the ground around.

    | actions (12) | meaning |
    | --- | --- |
    | legs | as on flat ground |

    | observations (232) | size | noise (actor only) |
    | --- | --- | --- |
    | what is observed on flat ground | 45 | as there |
    | height scan: trunk over the ground at 17 x 11 points around it, 0.1 m apart, along its heading | 187 | ±0.1 |
    | velocity of the trunk, own frame (critic only) | 3 | |

    | rewards (times the control step) | weight |
    | --- | --- |
    | those on flat ground, with the height above the ground below the trunk | as there |

    | ends | |
    | --- | --- |
    | those on flat ground | |

    | events and commands | |
    | --- | --- |
    | those on flat ground | |

    | terrain | |
    | --- | --- |
    | grid | 10 levels x 10 columns of cells of 8 x 8 m |
    | columns | stairs up x 2, stairs down x 2, boxes x 2, rough x 2, slope up, slope down |
    | level 1 to 9 | stairs 0.04 to 0.13 m, boxes up to 0.04 to 0.11 m, rough ±0.03 to ±0.07 m, slopes 0.03 to 0.3 |
    | level 0 | flat in every column |
    | reset | in the middle of the world's cell: position U(-0.5, 0.5) m, yaw U(-π, π) |

    | curriculum (training only; all worlds start on level 0) | |
    | --- | --- |
    | a level up | the robot ended more than 4 m from its start |
    | a level down | it ended less than half as far as its commands would have taken it |
    | in play and evaluation | worlds stay on cells spread evenly over all levels |
    """
    cfg, command = flat(play), {"command": COMMAND}
    cfg.scene.terrain = TerrainCfg(spread=play)
    cfg.observations = _observations(height_scan=True)
    cfg.metrics |= {
        "achieved_speed": MetricTermCfg(mdp.achieved_speed, params=command),
        "commanded_speed": MetricTermCfg(mdp.commanded_speed, params=command),
    }
    if not play:
        cfg.curriculum = {"terrain_level": CurriculumTermCfg(mdp.terrain_levels, params=command)}
    return cfg


def rough_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on rough ground: no entropy bonus, the network's own standard deviation within [0.3, 2]."""
    cfg = flat_ppo()
    cfg.max_iterations = 6000
    cfg.actor.distribution = RslRlDistributionCfg(init_std=1.0, state_dependent=True, std_range=(0.3, 2.0))
    cfg.algorithm = RslRlPpoCfg(entropy_coef=0.0, desired_kl=0.02)
    return cfg


ROUGH_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        **_cpu(worlds=512, iterations=800, shaped=0),
        "agent.actor.distribution.state_dependent": False,  # as on flat ground, where its policy comes from
    }
}
"""To be started from a policy for flat ground: ``--checkpoint bundled:Genelab-Velocity-Flat-Unitree-Go1-v0``."""


def _shaping(command: dict[str, Any], feet: dict[str, Any]) -> dict[str, RewardTermCfg]:
    """What leads out of standing still. Gone from the start, unless a preset gives the ramps a length."""

    def fade() -> RampCfg:
        return RampCfg(start=1.0, end=0.0)

    return {
        "progress": RewardTermCfg(mdp.progress, weight=4.0, params=command, ramp=fade()),
        "trot": RewardTermCfg(mdp.trot, weight=2.0, params={**feet, "threshold": 0.1}, ramp=fade()),
    }


def _contact_sensors() -> dict[str, ContactSensorCfg]:
    return {
        name: ContactSensorCfg(side=f"robot/{name}", kind="geom", other="ground", other_kind="geom")
        for name in (*FEET, *THIGHS)
    }


def _observations(height_scan: bool = False) -> dict[str, ObservationGroupCfg]:
    def terms() -> dict[str, ObservationTermCfg]:
        return {
            "ang_vel": ObservationTermCfg(mdp.base_ang_vel, noise=0.2),
            "gravity": ObservationTermCfg(mdp.projected_gravity, noise=0.05),
            "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.01),
            "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=1.5),
            "last_action": ObservationTermCfg(mdp.last_action),
            "command": ObservationTermCfg(mdp.generated_command, params={"command": COMMAND}),
            **({"height_scan": ObservationTermCfg(mdp.height_scan, noise=0.1)} if height_scan else {}),
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
