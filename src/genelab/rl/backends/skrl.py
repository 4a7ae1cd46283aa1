"""The skrl backend."""

from genelab.rl.backends.learning import LearningBackend
from genelab.rl.skrl.learner import SkrlLearner


class SkrlBackend(LearningBackend):
    """PPO, A2C, SAC, TD3 and DDPG by skrl."""

    name = "skrl"
    learner = SkrlLearner
