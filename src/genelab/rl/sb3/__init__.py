"""PPO, A2C, SAC, TD3 and DDPG by stable-baselines3: buffers with hindsight, demonstrations, and the learner."""
