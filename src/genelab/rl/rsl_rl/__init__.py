"""Learning methods with rsl_rl's networks: the learner that they run in, and the networks themselves."""
