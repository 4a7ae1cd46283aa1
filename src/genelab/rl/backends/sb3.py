"""The sb3 backend."""

from genelab.rl.backends.learning import LearningBackend
from genelab.rl.sb3.learner import Sb3Learner


class Sb3Backend(LearningBackend):
    """PPO, A2C, SAC, TD3 and DDPG by stable-baselines3, the last three with hindsight (HER)."""

    name = "sb3"
    learner = Sb3Learner
    checkpoint_suffix = ".zip"
