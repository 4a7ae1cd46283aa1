"""Learners in several processes, each with a shard of the worlds, that take the same gradient steps (torchrun).

Process 0 leads: it has the run, logs, evaluates and saves. The others follow: they call what it calls, when it does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributed

from genelab.core.errors import RunStopped, UserError
from genelab.core.rng import derive_seed
from genelab.rl.methods.peers import Peers
from genelab.rl.rsl_rl.worker import ShardLearner
from genelab.rl.shards.work import Report, book, shard_name, told

LED = ("begin_with", "start", "load_state", "run_iteration", "worlds")
"""What all processes call when the leader does, with the same arguments."""


class RankLearner(ShardLearner):
    """Learns together with the learners of other processes."""

    def build(self) -> None:
        rank, self.count = distributed.get_rank(), distributed.get_world_size()
        self.shard = shard_name(rank, self.count)
        if self.env.cfg.simulation.vis:
            raise UserError("env.simulation.vis needs all worlds in this process (agent.rollout.learners 1)")
        super().build()
        self.method.join(Peers(rank * self.env.num_envs, self.count * self.env.num_envs))
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(derive_seed(self.agent_cfg.seed, self.shard), "actions"))
            curriculum = dict(self.env.curriculum_manager.values)
            self._elsewhere: Any = (_streams(), deepcopy(self.env.episode_stats), self.env.failed_worlds, curriculum)
        """Random numbers and books: this shard's, while those of all shards are in use, and the other way round."""
        for name in LED if rank == 0 else ():
            setattr(self, name, partial(self._lead, name, getattr(self, name)))

    @property
    def steps(self) -> int:
        return self.count * super().steps

    def _lead(self, name: str, method: Callable[..., Any], *given: Any) -> Any:
        distributed.broadcast_object_list([(name, given)])
        return method(*given)

    def worlds(self) -> dict[str, Any]:
        with self._own():
            mine = super().worlds()
        found = [(self.digest(), mine)] * self.count
        distributed.gather_object(found[0], found if distributed.get_rank() == 0 else None)
        for i, (digest, _) in enumerate(found):
            if digest != self.digest():
                raise RunStopped(f"{shard_name(i, self.count)}: its learner has come to other weights than the first")
        return {"shards": [state for _, state in found], "episode_stats": self.env.episode_stats.state_dict()}

    def load_worlds(self, state: dict[str, Any]) -> None:
        if len(state["shards"]) != self.count:
            raise UserError(f"it has {len(state['shards'])} shards, not {self.count}")
        self.env.episode_stats.load_state_dict(state["episode_stats"])
        with self._own():
            super().load_worlds(state["shards"][distributed.get_rank()])

    def close(self) -> None:
        if distributed.get_rank() == 0:
            with suppress(RuntimeError):  # a follower is gone
                distributed.broadcast_object_list([None])
        distributed.destroy_process_group()  # a thread of gloo's that lives when Python ends aborts the process

    def follow(self) -> None:
        """Do what the leader does, until it ends."""
        heard: list[Any] = [None]
        while True:
            distributed.broadcast_object_list(heard)
            if heard[0] is None:
                return
            name, given = heard[0]
            with suppress(_Abandoned):
                getattr(self, name)(*given)

    def _collect(self) -> None:
        with self._own():
            self.books.open()
            try:
                super()._collect()
                mine = self.books.report()
            except Exception as error:
                mine = self.books.report(error=told(error, self.shard))
        reports: list[Report] = [mine] * self.count
        distributed.all_gather_object(reports, mine)
        if distributed.get_rank() == 0:
            book(self.env, reports)
        elif any(report.error is not None for report in reports):
            raise _Abandoned

    @contextmanager
    def _own(self) -> Iterator[None]:
        """With the random numbers and the books of this shard; outside, they are those of all shards."""
        self._turn()
        try:
            yield
        finally:
            self._turn()

    def _turn(self) -> None:
        env, curriculum = self.env, self.env.curriculum_manager
        here = (_streams(), env.episode_stats, env.failed_worlds, curriculum.values)
        streams, env.episode_stats, env.failed_worlds, curriculum.values = self._elsewhere
        torch.set_rng_state(streams[0])
        for stream in streams[1:]:
            torch.cuda.set_rng_state(stream)
        self._elsewhere = here


class _Abandoned(Exception):  # noqa: N818
    """The leader ends the iteration with an error."""


def _streams() -> list[Tensor]:
    """The states of torch's generators: of the CPU, and of this process's GPU if there is one."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_available() else [])]
