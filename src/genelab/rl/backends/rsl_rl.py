"""The rsl_rl backend."""

from genelab.rl.backends.learning import LearningBackend
from genelab.rl.rsl_rl.runner import Runner


class RslRlBackend(LearningBackend):
    """PPO by rsl_rl."""

    name = "rsl_rl"
    learner = Runner
