"""The Unitree Go1 follows a velocity command."""

from typing import Any

from genelab.envs import ManagerBasedRlEnvCfg
from genelab.mdp import JointPositionActionCfg, VelocityCommandCfg
from genelab.rl.cfg import RslRlOnPolicyRunnerCfg
from genelab.scene.robots.go1 import LEGS, MIRROR, go1
from genelab.tasks.velocity import agents, quadruped
from genelab.tasks.velocity.builder import VelocityRobot, velocity

FEET = tuple(f"{leg}_foot" for leg in LEGS)
THIGHS = tuple(f"{leg}_thigh" for leg in LEGS)

GO1 = VelocityRobot(
    robot=go1,
    mirror=MIRROR,
    contacts={"feet": FEET, "thighs": THIGHS},
    actions={"legs": JointPositionActionCfg(scale=0.25)},
    command=VelocityCommandCfg(resampling_s=(3.0, 8.0)),
    rewards=quadruped.rewards(feet=FEET, feet_sites=LEGS, legs=THIGHS, height=0.34),
    push={"xy": 0.5, "yaw": 0.5},
)


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
    return velocity(GO1, play=play)


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
    return velocity(GO1, rough=True, play=play)


def flat_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on flat ground: 512-256-128, 3000 iterations."""
    return agents.flat_ppo(max_iterations=3000)


def rough_ppo() -> RslRlOnPolicyRunnerCfg:
    """PPO for the Go1 on rough ground: no entropy bonus, the network's own standard deviation within [0.3, 2]."""
    return agents.rough_ppo(max_iterations=6000)


FLAT_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {**quadruped.cpu_preset(GO1, worlds=512, iterations=300), **quadruped.shaping(FEET, iterations=150)}
}
ROUGH_PRESETS: dict[str, dict[str, Any]] = {
    "cpu": {
        **quadruped.cpu_preset(GO1, worlds=512, iterations=800),
        "agent.actor.distribution.state_dependent": False,  # as on flat ground, where its policy comes from
    }
}
"""To be started from a policy for flat ground: ``--checkpoint bundled:Genelab-Velocity-Flat-Unitree-Go1-v0``."""
