"""skrl's own PPO learns to balance the pendulum: python examples/skrl_ppo.py SEED STEPS"""

import sys

import torch
from skrl.utils.runner.torch import Runner

from genelab.clients import SkrlEnv

TASK, (seed, steps) = "GeneLab-Inverted-Pendulum-v0", map(int, sys.argv[1:])
NETWORK = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "elu"}]
SETTINGS = {"rollouts": 24, "learning_epochs": 5, "mini_batches": 4, "learning_rate": 1e-3}
SCALERS = {"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler"}
POLICY = {"class": "GaussianMixin", "network": NETWORK, "output": "ACTIONS", "initial_log_std": -0.5}
VALUE = {"class": "DeterministicMixin", "network": NETWORK, "output": "ONE"}

envs = SkrlEnv(TASK, num_envs=64, seed=seed)
cfg = {
    "seed": seed,
    "models": {"separate": True, "policy": POLICY, "value": VALUE},
    "memory": {"class": "RandomMemory", "memory_size": -1},
    "agent": {"class": "PPO", **SETTINGS, **SCALERS, "experiment": {"write_interval": 0, "checkpoint_interval": 0}},
    "trainer": {"class": "SequentialTrainer", "timesteps": steps // envs.num_envs, "close_environment_at_exit": False},
}
runner = Runner(envs, cfg)
runner.run("train")

test = SkrlEnv(TASK, num_envs=64, play=True, seed=0)
obs, _ = test.reset()
returns, first_episode = torch.zeros(64, 1), torch.ones(64, 1)
for _ in range(test.max_episode_length):
    _, outputs = runner.agent.act(obs, None, timestep=0, timesteps=0)
    obs, rewards, terminated, _, _ = test.step(outputs["mean_actions"])
    returns += rewards * first_episode
    first_episode *= ~terminated
print(f"return {returns.mean():.2f} of 40")
