"""PPO, A2C, SAC, TD3 and DDPG by skrl: networks with an asymmetric critic, and the learner."""
