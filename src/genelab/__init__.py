"""genelab: define a robot-learning task once, train and check it on several physics engines and RL libraries."""

import os

# Torch's worker threads would otherwise spin for a while after each operation and take the cores from the physics
# threads: a third of the speed on two cores. Has an effect only if torch has not been imported yet.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.1.0"
