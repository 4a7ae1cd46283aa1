"""PPO by rsl_rl: the environment adapter, the algorithm with a correct time-out bootstrap, and the runner."""
