"""genelab: define a robot-learning task once, train and check it on several physics engines and RL libraries."""

__version__ = "0.1.0"
