"""The velocity tasks of all robots: what they share, and the table that says what is particular to one.

Every task runs at 50 Hz for 20 s, on flat ground or on terrain. The actor sees what a real robot can measure; the
critic sees more.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from genelab import envs, mdp
from genelab.envs import CurriculumTermCfg, EventTermCfg, ManagerBasedRlEnvCfg, ObservationGroupCfg, ObservationTermCfg
from genelab.mdp import VelocityCommandCfg
from genelab.rl.cfg import RslRlDistributionCfg, RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoCfg
from genelab.scene.scene import EntityCfg, GroundCfg, SceneCfg
from genelab.scene.terrain import TerrainCfg
from genelab.scene.terrain_shapes import SIZES
from genelab.sensors import ContactSensorCfg, HeightScanCfg, SensorCfg

COMMAND = "velocity"
"""Name of the command in all tasks of the family."""
HEIGHT_SCAN = "height_scan"
"""Name of the sensor, and of the observation of it, in the tasks on rough ground."""
STEPS = RslRlOnPolicyRunnerCfg().num_steps_per_env
"""Control steps of an iteration."""


@dataclass(frozen=True, kw_only=True)
class VelocityRobot:
    """What a velocity task needs to know about a robot.

    Terms are given as in an environment's config, by name and in order, and are copied into every task made from it.
    """

    robot: Callable[[], EntityCfg]
    """Model, start pose and gains."""
    sensors: dict[str, SensorCfg]
    """For terms of this robot's own, such as contact sensors of its feet."""
    actions: dict[str, envs.ActionTermCfg]
    command: VelocityCommandCfg
    rewards: dict[str, envs.RewardTermCfg]
    critic: dict[str, ObservationTermCfg] = field(default_factory=dict)
    """What the critic sees besides the actor's observations and the velocity of the base."""
    history: int = 1
    """Frames in an observation."""
    push: dict[str, Any]
    """Parameters of the pushes in training: half-widths of the velocities that are set."""
    randomize: dict[str, EventTermCfg] = field(default_factory=dict)
    """What differs from world to world in training: masses, friction, gains, …"""
    curriculum: dict[str, CurriculumTermCfg] = field(default_factory=dict)
    """What gets harder in training, besides the terrain."""
    terrain_sizes: dict[str, tuple[float, float]] = field(default_factory=lambda: SIZES)
    """How large the shapes of rough ground are for this robot."""


def velocity(table: VelocityRobot, *, rough: bool = False, play: bool = False) -> ManagerBasedRlEnvCfg:
    """A robot follows a velocity command, on flat ground or on a grid of stairs, boxes, rough ground and slopes."""
    table, command = copy.deepcopy(table), {"command": COMMAND}
    levels = CurriculumTermCfg(mdp.terrain_levels, params=command)
    place = {"place": EventTermCfg(mdp.place_root, params={"xy": 0.5})}
    metrics = {"lin_vel_error": mdp.lin_vel_error, "ang_vel_error": mdp.ang_vel_error}
    if rough:
        metrics |= {"achieved_speed": mdp.achieved_speed, "commanded_speed": mdp.commanded_speed}
    return ManagerBasedRlEnvCfg(
        scene=SceneCfg(
            robots={"robot": table.robot()},
            # A contact has the larger friction of its two sides: at zero, the ground leaves it to the robot's feet.
            ground=GroundCfg(friction=0.0),
            terrain=TerrainCfg(sizes=dict(table.terrain_sizes), spread=play) if rough else None,
            sensors={**table.sensors, **({HEIGHT_SCAN: HeightScanCfg()} if rough else {})},
        ),
        simulation=envs.SimulationCfg(dt=0.002),
        num_envs=64 if play else 4096,
        decimation=10,
        episode_length_s=20.0,
        actions=table.actions,
        commands={COMMAND: table.command},
        observations=_observations(table, rough),
        rewards=table.rewards,
        terminations={
            "time_out": envs.DoneTermCfg(mdp.time_out, time_out=True),
            "tilted": envs.DoneTermCfg(mdp.tilted, params={"limit": math.radians(70.0)}),
        },
        events=place if play else {**table.randomize, **place, "push": pushes(table)},
        curriculum={} if play else {**table.curriculum, **({"terrain_level": levels} if rough else {})},
        metrics={name: envs.MetricTermCfg(func, params=command) for name, func in metrics.items()},
        success=envs.SuccessTermCfg(mdp.survived),
        camera="robot/chase",
    )


def on_ground(geoms: tuple[str, ...]) -> ContactSensorCfg:
    """Senses contacts of the robot's shapes with the ground."""
    sides = tuple(f"robot/{geom}" for geom in geoms)
    return ContactSensorCfg(sides=sides, kind="geom", other="ground", other_kind="geom")


def _observations(table: VelocityRobot, height_scan: bool) -> dict[str, ObservationGroupCfg]:
    def terms() -> dict[str, ObservationTermCfg]:
        scan = ObservationTermCfg(mdp.sensor_data, params={"sensor": HEIGHT_SCAN}, noise=0.1)
        return {
            "ang_vel": ObservationTermCfg(mdp.base_ang_vel, noise=0.2),
            "gravity": ObservationTermCfg(mdp.projected_gravity, noise=0.05),
            "joint_pos": ObservationTermCfg(mdp.joint_pos_rel, noise=0.01),
            "joint_vel": ObservationTermCfg(mdp.joint_vel, noise=1.5),
            "last_action": ObservationTermCfg(mdp.last_action),
            "command": ObservationTermCfg(mdp.generated_command, params={"command": COMMAND}),
            **({HEIGHT_SCAN: scan} if height_scan else {}),
        }

    more = {"lin_vel": ObservationTermCfg(mdp.base_lin_vel), **table.critic}
    return {
        "policy": ObservationGroupCfg(terms=terms(), noise=True, history=table.history),
        "critic": ObservationGroupCfg(terms={**terms(), **more}, history=table.history),
    }


def pushes(table: VelocityRobot, after: int = 0, every: tuple[float, float] = (1.0, 3.0)) -> EventTermCfg:
    """The pushes of training, from so many control steps on, so many seconds apart."""
    return EventTermCfg(mdp.push_root, mode="interval", interval_s=every, after=after, params=dict(table.push))


def steady(table: VelocityRobot, every: tuple[float, float], after: int = 0) -> dict[str, EventTermCfg]:
    """What shows gaits that get slower and slower: pushes that come seldom, and commands for one axis alone."""
    params = {"command": COMMAND}
    single = EventTermCfg(mdp.single_axis_command, mode="interval", interval_s=(3.0, 9.0), after=after, params=params)
    return {"env.events.push": pushes(table, after, every), "env.events.single_axis": single}


def ramp(start: float, end: float, iterations: int, *, hold: int = 0, after: int = 0) -> envs.RampCfg:
    """From `start` to `end` in so many iterations, after `hold` iterations at `start`."""
    return envs.RampCfg(start=start, end=end, steps=iterations * STEPS, hold=hold * STEPS, after=after * STEPS)


def flat_agent(max_iterations: int) -> RslRlOnPolicyRunnerCfg:
    """PPO for flat ground, as published: 512-256-128."""
    layers = (512, 256, 128)
    actor = RslRlModelCfg(hidden_dims=layers, distribution=RslRlDistributionCfg(init_std=1.0))
    return RslRlOnPolicyRunnerCfg(max_iterations=max_iterations, actor=actor, critic=RslRlModelCfg(hidden_dims=layers))


def rough_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for rough ground, as published: no entropy bonus, the network's own standard deviation within [0.3, 2]."""
    cfg = flat_agent(max_iterations=6000)
    cfg.actor.distribution = RslRlDistributionCfg(init_std=1.0, state_dependent=True, std_range=(0.3, 2.0))
    cfg.algorithm = RslRlPpoCfg(entropy_coef=0.0, desired_kl=0.02)
    return cfg
