"""The Unitree Go1 follows a velocity command."""

from typing import Any

from genelab.envs import ManagerBasedRlEnvCfg
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.scene.robots.go1 import LEGS, MIRROR, go1
from genelab.tasks.velocity import quadruped
from genelab.tasks.velocity.builder import VelocityRobot, flat_agent, rough_agent, velocity

FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGHS = tuple(f"{leg}_thigh" for leg in LEGS)

GO1 = VelocityRobot(
    robot=go1,
    mirror=MIRROR,
    contacts={"feet": FEET, "thighs": THIGHS},
    actions={"legs": JointPositionActionCfg(scale=0.25)},
    command=VelocityCommandCfg(resampling_s=(3.0, 8.0)),
    rewards=quadruped.rewards(feet="feet", feet_sites=LEGS, legs="thighs", height=0.34),
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


def rough_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on rough ground: no entropy bonus, the network's own standard deviation within [0.3, 2]."""
    return rough_agent(max_iterations=6000)


_SMALL, _LARGE = (64, 64, 64), (128, 128, 128)
_SHAPING = quadruped.shaping("feet", iterations=180)
_FLAT_CPU = {**quadruped.cpu_preset(GO1, worlds=512, iterations=390, layers=_SMALL), **_SHAPING}
_ROBUST = quadruped.robust(feet="robot/.*_foot", trunk="trunk")
FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": _FLAT_CPU,
    # To be started from a policy that walks: in worlds that differ from the start, none is found.
    "robust": {
        **quadruped.cpu_preset(GO1, worlds=512, iterations=1200, layers=_LARGE),
        **_ROBUST,
        "agent.algorithm.max_learning_rate": 1e-3,  # it should not forget how to walk
        "agent.algorithm.entropy_coef": 0.002,
    },
    "long": {
        **quadruped.cpu_preset(GO1, worlds=512, iterations=2400, layers=_LARGE),
        **_SHAPING,
        "agent.algorithm.entropy_coef": 0.001,
    },
    "spo": {
        "agent.algorithm": "spo",
        **_FLAT_CPU,
        # SPO bounds its ratios smoothly, so its steps are shorter than those of PPO with the same settings.
        "agent.algorithm.clip_param": 0.6,
        "agent.algorithm.max_learning_rate": 1e-2,
    },
}
_ROUGH_CPU = {
    **quadruped.cpu_preset(GO1, worlds=512, iterations=800, layers=_LARGE),
    "agent.actor.distribution.state_dependent": False,  # as on flat ground, where its policy comes from
}
ROUGH_PRESETS: dict[str, dict[str, Any]] = {"cpu": _ROUGH_CPU, "robust": {**_ROUGH_CPU, **_ROBUST}}
"""To be started from a policy for flat ground: ``--checkpoint bundled:Genelab-Velocity-Flat-Unitree-Go1-v0``."""
