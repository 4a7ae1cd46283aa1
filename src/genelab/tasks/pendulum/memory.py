"""Hold a place that was shown only at the beginning."""

from genelab import mdp
from genelab.envs import EventTermCfg, ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.mdp import UniformCommandCfg
from genelab.tasks.pendulum.balance import single

TARGET = "target"


def memory(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Hold the balanced cart at a place that is shown only in the first five steps: a test of memory.

    50 Hz, 4 s. The place x* is drawn from U(-0.8, 0.8) once per episode. A cart that stays in the middle loses half of
    the return. Nothing but memory tells where x* was: the last action is not shown, and pushes move the cart, in
    evaluation too, so that its position and velocity say less and less about where it was going.

    | actions (1) | meaning |
    | --- | --- |
    | cart | target position of the cart, metres, through a servo with kp 80, kd 8; raw action clipped at ±100 |

    | observations (8) | size | noise (actor only) | scale |
    | --- | --- | --- | --- |
    | joint positions | 2 | ±0.005 | 1 |
    | joint velocities | 2 | ±0.05 | 0.1 |
    | angular velocity of the pole | 3 | ±0.1 | 0.2 |
    | x* in the first 5 observations of an episode, then 0 (the critic sees x* throughout) | 1 | | 1 |
    | last action (critic only) | 1 | | 1 |

    | rewards (times the control step) | weight |
    | --- | --- |
    | alive | 1 |
    | cos θ | 3 |
    | θ² | -0.5 |
    | (x - x*)² | -10 |
    | ẋ² | -0.005 |
    | θ̇² | -0.01 |
    | (change of action)² | -0.005 |

    | ends | |
    | --- | --- |
    | fallen | abs(θ) > 0.4 rad |
    | off the track | abs(x) > 2.4 m |
    | time-out | 4 s; a success if it is reached |

    | events | |
    | --- | --- |
    | reset | positions and velocities U(-0.05, 0.05) |
    | push | every U(0.5, 1) s the cart's velocity is set to U(-0.7, 0.7) |
    """
    cfg = single(play)
    cfg.decimation = 4
    cfg.episode_length_s = 4.0
    cfg.commands = {TARGET: UniformCommandCfg(low=(-0.8,), high=(0.8,))}
    actor, critic = cfg.observations["policy"].terms, cfg.observations["critic"].terms
    del actor["last_action"]  # it would say where the cart is going
    actor["target"] = ObservationTermCfg(mdp.command_hint, params={"command": TARGET, "steps": 5})
    critic["target"] = ObservationTermCfg(mdp.generated_command, params={"command": TARGET})
    del cfg.rewards["cart_position"]
    cfg.rewards["target_distance"] = RewardTermCfg(
        mdp.command_distance_l2, weight=-10.0, params={"command": TARGET, "joint": "slide"}
    )
    cfg.events["push"] = EventTermCfg(
        mdp.push_joint, mode="interval", interval_s=(0.5, 1.0), params={"joint": "slide", "velocity": 0.7}
    )
    return cfg
