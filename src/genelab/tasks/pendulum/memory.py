"""Go to a place that was shown only at the beginning."""

from genelab import mdp
from genelab.envs import ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.mdp import UniformCommandCfg
from genelab.tasks.pendulum.balance import single


def memory(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Drive the balanced cart to a place that is shown only in the first five steps: a test of recurrent policies.

    100 Hz, 1 s. The target x* is drawn from U(-0.8, 0.8) once per episode.

    | actions (1) | meaning |
    | --- | --- |
    | cart | target position of the cart, metres, through a servo with kp 80, kd 8; raw action clipped at ±100 |

    | observations (9) | size | noise (actor only) | scale |
    | --- | --- | --- | --- |
    | joint positions | 2 | ±0.005 | 1 |
    | joint velocities | 2 | ±0.05 | 0.1 |
    | angular velocity of the pole | 3 | ±0.1 | 0.2 |
    | last action | 1 | | 1 |
    | x* in the first 5 observations of an episode, then 0 (the critic sees x* throughout) | 1 | | 1 |

    | rewards (times the control step) | weight |
    | --- | --- |
    | alive | 1 |
    | cos θ | 3 |
    | θ² | -0.5 |
    | (x - x*)² | -4 |
    | ẋ² | -0.005 |
    | θ̇² | -0.01 |
    | (change of action)² | -0.005 |

    | ends | |
    | --- | --- |
    | fallen | abs(θ) > 0.4 rad |
    | off the track | abs(x) > 2.4 m |
    | time-out | 1 s; a success if it is reached |

    | events | |
    | --- | --- |
    | reset | positions and velocities U(-0.05, 0.05) |
    """
    cfg = single(play)
    cfg.episode_length_s = 1.0
    cfg.commands = {"target": UniformCommandCfg(low=(-0.8,), high=(0.8,))}
    cfg.observations["policy"].terms["target"] = ObservationTermCfg(
        mdp.command_hint, params={"command": "target", "steps": 5}
    )
    cfg.observations["critic"].terms["target"] = ObservationTermCfg(mdp.generated_command, params={"command": "target"})
    del cfg.rewards["cart_position"]
    cfg.rewards["target_distance"] = RewardTermCfg(
        mdp.command_distance_l2, weight=-4.0, params={"command": "target", "joint": "slide"}
    )
    cfg.events.pop("push", None)
    return cfg
