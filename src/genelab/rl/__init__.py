"""Learning: backends for RL libraries, evaluation of policies."""
