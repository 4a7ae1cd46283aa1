"""Learning: learners for three RL libraries, learning methods, evaluation and export of policies."""
