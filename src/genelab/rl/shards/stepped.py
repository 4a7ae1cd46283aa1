"""Worlds in workers that are stepped one control step at a time: for learners that look at every step."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from genelab.envs import ManagerBasedRlEnv
from genelab.rl.backends.base import Hooks
from genelab.rl.shards.crew import Crew
from genelab.rl.shards.work import Books, Report, Shard, Worker, packed

KEPT = 100
"""Control steps after which the learner gets the state of every shard: at most so many are repeated after a loss."""


class StepWorker(Worker):
    """Steps the worlds of a shard with the actions that it is sent."""

    def __init__(self, shard: Shard, state: dict[str, Any] | None):
        self.env = shard.make_env()
        self.books = Books(shard.name, self.env)
        self._keep = True
        if state is not None:
            self.env.load_state_dict(state)
        elif shard.agent_cfg.random_episode_start:
            self.env.randomize_episode_start()

    def work(self, actions: Tensor | None = None, keep: bool = True) -> dict[str, Any]:
        """Take a control step, or without actions only tell what is seen. All as arrays, which are sent quickly."""
        self._keep, ended, last, happened = keep, np.zeros(0, np.int64), {}, {}
        if actions is not None:
            _, rewards, terminated, truncated, extras = self.env.step(actions)
            self.books.note(extras["finished"])
            done = (terminated | truncated).nonzero().flatten()
            last = {name: values[done].numpy() for name, values in extras["final_obs"].items()}
            ended = done.numpy()
            happened = {"rewards": rewards.numpy(), "terminated": terminated.numpy(), "truncated": truncated.numpy()}
        obs = {name: values.numpy() for name, values in self.env.obs.items()}
        return {"obs": obs, "ended": ended, "last": last, **happened}

    def worlds(self) -> dict[str, Any] | None:
        return self.env.state_dict() if self._keep else None


class SteppedEnv:
    """An environment whose worlds are in workers. What it lacks is of the one in this process, which is not stepped."""

    def __init__(self, env: ManagerBasedRlEnv, agent_cfg: Any, hooks: Hooks):
        self._env, self._control_steps = env, 0
        self.crew = Crew(env, agent_cfg, f"{__name__}:{StepWorker.__name__}", hooks)
        self.obs = env.obs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def randomize_episode_start(self) -> None:
        """Workers do it when they begin."""

    def begin(self) -> None:
        """Let all workers be ready."""
        self.obs = self._put_together(self.crew.exchange(), "obs")

    def step(self, actions: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor, dict[str, Any]]:
        """As of an environment. Of its extras there are ``final_obs`` and ``finished``, None if no episode ended."""
        self._control_steps += 1
        keep, parts = self._control_steps % KEPT == 0, (actions[worlds].contiguous() for worlds in self.crew.worlds)
        reports = self.crew.exchange([packed({"actions": part, "keep": keep}) for part in parts])
        self.obs = self._put_together(reports, "obs")
        shards = zip(self.crew.worlds, reports, strict=True)
        ended = torch.from_numpy(np.concatenate([worlds.start + report.outcome["ended"] for worlds, report in shards]))
        final_obs = self.obs
        if len(ended):
            last = self._put_together(reports, "last")
            final_obs = {name: values.index_copy(0, ended, last[name]) for name, values in self.obs.items()}
        names = ("rewards", "terminated", "truncated")
        rewards, terminated, truncated = (
            torch.from_numpy(np.concatenate([report.outcome[name] for report in reports])) for name in names
        )
        return self.obs, rewards, terminated, truncated, {"final_obs": final_obs, "finished": len(ended) or None}

    def state_dict(self) -> dict[str, Any]:
        self.crew.exchange([packed({})] * len(self.crew.shards))
        return self.crew.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.crew.load_state_dict(state)
        self.begin()

    @staticmethod
    def _put_together(reports: list[Report], what: str) -> dict[str, Tensor]:
        """Observations of all shards, in order."""
        groups = reports[0].outcome[what]
        return {name: torch.from_numpy(np.concatenate([r.outcome[what][name] for r in reports])) for name in groups}
