"""stable-baselines3's own PPO learns to balance the pendulum: python examples/sb3_ppo.py SEED STEPS"""

import sys

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from genelab.clients import Sb3VecEnv

TASK, (seed, steps) = "GeneLab-Inverted-Pendulum-v0", map(int, sys.argv[1:])

envs = VecNormalize(Sb3VecEnv(TASK, num_envs=64), norm_reward=False)
agent = PPO("MlpPolicy", envs, n_steps=24, batch_size=384, n_epochs=5, learning_rate=1e-3, seed=seed)
agent.learn(steps)

test = VecNormalize(Sb3VecEnv(TASK, num_envs=64, play=True), training=False, norm_reward=False)
test.obs_rms = envs.obs_rms
test.seed(0)
mean, _ = evaluate_policy(agent, test, n_eval_episodes=100, warn=False)
print(f"return {mean:.2f} of 40")
