"""Rewards that only help a policy to begin. They fade out, so that what is learnt in the end is the task."""

from torch import Tensor

from genelab.envs.env import ManagerBasedRlEnv
from genelab.envs.terms import SensorRefs
from genelab.mdp.locomotion import is_moving


def trot(env: ManagerBasedRlEnv, feet: SensorRefs, command: str, threshold: float, fade_steps: int) -> Tensor:
    """One while the diagonal pairs of feet take turns on the ground, if the robot is to move.  (N,)

    `feet` are four in the order front right, front left, rear right, rear left. The value falls linearly to zero over
    the first `fade_steps` control steps of the run.
    """
    left = 1.0 - env.step_count / fade_steps
    down = env.contacts.in_contact[:, feet]
    turns = (down[:, 0] == down[:, 3]) & (down[:, 1] == down[:, 2]) & (down[:, 0] != down[:, 1])
    return (turns & is_moving(env, command, threshold)) * max(left, 0.0)
