"""Hold a place that was shown only at the beginning."""

from genelab import mdp
from genelab.envs import ManagerBasedRlEnvCfg, ObservationTermCfg, RewardTermCfg
from genelab.mdp import UniformCommandCfg
from genelab.tasks.pendulum.balance import pushes, single

TARGET = "target"


def memory(play: bool = False) -> ManagerBasedRlEnvCfg:
    """Hold the balanced cart at a place that is shown only at the beginning of an episode: a test of memory.

    A cart that stays in the middle loses half of the return. Nothing but memory tells where the place was: the last
    action is not shown, and pushes move the cart, in evaluation too, so that its position and velocity say less and
    less about where it was going.
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
    away = {"command": TARGET, "joint": "slide"}
    cfg.rewards["target_distance"] = RewardTermCfg(mdp.command_distance_l2, weight=-10.0, params=away)
    cfg.events["push"] = pushes(every=(0.5, 1.0), velocity=0.7)
    return cfg
