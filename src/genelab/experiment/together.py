"""A training in several processes that learn together. torchrun starts them, or, if it did not, this module does.

Process 0 trains as one process would. The others only follow it, and have no run.
"""

import logging
import os
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import torch

from genelab.core.errors import UserError
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from genelab.experiment import provenance
from genelab.rl import backends

PATIENCE, GRACE_S = timedelta(days=1), 600
"""How long a process waits for another one, which may be compiling or evaluating, and for the last iteration to end."""


def started() -> int | None:
    """How many processes torchrun started, of which this is one; None if it did not."""
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else None


def gather(env_cfg: ManagerBasedRlEnvCfg, agent_cfg: Any, command: list[str]) -> None:
    """Bring the learners of a config together, by torchrun or `command`. Returns in the first only, or if alone."""
    count, here = agent_cfg.rollout.learners, started()
    if here is not None and here != count:
        raise UserError(f"agent.rollout.learners is {count}, and torchrun started {here} processes")
    if count == 1:
        return
    gpu = env_cfg.simulation.gpu
    if here is None:
        if not command:
            raise UserError(f"agent.rollout.learners {count} goes with the genelab command, or with torchrun")
        if gpu and torch.cuda.device_count() < count:
            raise UserError(f"{count} learners need a GPU each: there are {torch.cuda.device_count()} (--gpus)")
        _launch(count, command)
    if gpu:  # each process sees its own only, which is the first one for all libraries
        local = int(os.environ["LOCAL_RANK"])
        devices = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(local + 1)))).split(",")
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[local]
    torch.distributed.init_process_group("nccl" if gpu else "gloo", timeout=PATIENCE)
    if torch.distributed.get_rank() > 0:
        _follow(env_cfg, agent_cfg)


def make_env(env_cfg: ManagerBasedRlEnvCfg, agent_cfg: Any) -> ManagerBasedRlEnv:
    """The worlds of this process."""
    if (count := agent_cfg.rollout.learners) == 1:
        return ManagerBasedRlEnv(env_cfg, seed=agent_cfg.seed)
    from genelab.rl.shards.work import shard_name

    rank, num_envs = torch.distributed.get_rank(), env_cfg.num_envs // count
    threads = env_cfg.simulation.threads or max(1, provenance.cores() // int(os.environ["LOCAL_WORLD_SIZE"]))
    env_cfg = replace(env_cfg, num_envs=num_envs, simulation=replace(env_cfg.simulation, threads=threads))
    return ManagerBasedRlEnv(env_cfg, derive_seed(agent_cfg.seed, shard_name(rank, count)), rank * num_envs)


def _launch(count: int, command: list[str]) -> NoReturn:
    """Run the command in `count` processes as torchrun would, and end as they do."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, provenance.cores() // count)))
    shared = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0", "local_addr": "localhost", "max_restarts": 0}
    config = LaunchConfig(1, 1, count, run_id="genelab", shutdown_timeout=GRACE_S, **shared)
    try:
        elastic_launch(config, sys.executable)("-m", "genelab", *command)
    except ChildFailedError as error:
        codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        raise SystemExit(codes.get(0, next(iter(codes.values())))) from None
    except SignalException:
        raise SystemExit(130) from None
    raise SystemExit(0)


def _follow(env_cfg: ManagerBasedRlEnvCfg, agent_cfg: Any) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the leader's business: it finishes the iteration
        signal.signal(number, lambda *_: signal.alarm(GRACE_S))  # but not if it is gone
    env = make_env(env_cfg, agent_cfg)
    learner: Any = backends.make_learner(env, agent_cfg, {})
    learner.follow()
    learner.close()
    env.close()
    raise SystemExit(0)
