"""Rollouts of workers: the learner's side. They write into its storage, which is shared memory."""

import shutil
from typing import Any

import torch

from genelab.core.errors import UserError
from genelab.envs import ManagerBasedRlEnv
from genelab.rl.methods.base import Method, batch_of
from genelab.rl.methods.peers import SHARED_MEMORY
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.worker import part, tensors
from genelab.rl.shards.crew import Crew
from genelab.rl.shards.work import packed


class ShardedLearner(RslRlLearner):
    """Collects in worker processes."""

    def build(self) -> None:
        super().build()
        _share(self.env, self.method)
        worker = "genelab.rl.rsl_rl.worker:RolloutWorker"
        self.crew = Crew(self.env, self.agent_cfg, worker, self.hooks, lambda worlds: part(self.method.storage, worlds))

    def start(self) -> None:
        self.crew.exchange()

    def close(self) -> None:
        self.crew.end()

    def worlds(self) -> dict[str, Any]:
        return self.crew.state_dict()

    def load_worlds(self, state: dict[str, Any]) -> None:
        self.crew.load_state_dict(state)
        self.crew.exchange()

    def _collect(self) -> None:
        weights = {name: network.state_dict() for name, network in self.networks().items()}
        progress = self.iteration / self.agent_cfg.max_iterations
        self.crew.exchange([packed({"weights": weights, "progress": progress})] * len(self.crew.shards))


def _share(env: ManagerBasedRlEnv, method: Method) -> None:
    """Move a method's storage to shared memory, if there is room for it: a full one kills whoever writes to it."""
    # A storage makes some tensors with the first step, and those of recurrent networks with the second.
    obs, nothing = batch_of(env, env.obs), torch.zeros(env.num_envs)
    extras = {"final_obs": env.obs, "time_outs": nothing.bool()}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for _ in range(2):
            method.act(obs)
            method.process_env_step(obs, nothing, nothing.bool(), extras)
            method.storage.clear()
    method.forget()
    shared = tensors(part(method.storage, slice(None)))
    size = sum(tensor.nbytes for tensor in shared)
    free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else size
    if size > free:
        room = f"{SHARED_MEMORY} has room for {free / 1e6:.0f} MB (docker run --shm-size)"
        raise UserError(f"rollouts of workers take {size / 1e6:.0f} MB of shared memory, and {room}")
    for tensor in shared:
        tensor.zero_().share_memory_()
