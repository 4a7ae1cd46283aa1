"""Rollouts of worker processes: the same weights whoever dies, and the same books as in one process."""

import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from genelab.core.errors import Diverged, RunStopped, UserError
from genelab.core.registry import TaskSpec, find
from genelab.core.rng import derive_seed
from genelab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg, ObservationTermCfg
from genelab.experiment.setup import resolve
from genelab.experiment.train import TrainRequest, resume, train
from genelab.rl.backends.base import Hooks
from genelab.rl.rsl_rl import shards
from genelab.rl.rsl_rl.learner import RslRlLearner
from genelab.rl.rsl_rl.shards import ShardedLearner
from genelab.rl.rsl_rl.worker import RolloutWorker, part, tensors
from genelab.rl.shards import crew, stepped
from genelab.tasks.pendulum.balance import single
from runs import metrics, start, wait_for_iteration

TASK = "GeneLab-Inverted-Pendulum-v0"
ROUGH = "Genelab-Velocity-Rough-Unitree-Go1-v0"
FAULTY = "Test-Workers-Faulty-v0"
ITERATIONS = 6
RECURRENT = {
    "env.num_envs": "5",
    "env.episode_length_s": "0.2",
    "agent.max_iterations": str(ITERATIONS),
    "agent.save_interval": "1",
    "agent.rollout.workers": "2",
    "agent.num_steps_per_env": "4",
    "agent.actor.rnn_type": "lstm",
    "agent.actor.obs_normalization": "true",
    "agent.critic.rnn_type": "gru",
    "agent.algorithm.num_mini_batches": "1",
    "agent.algorithm.normalize_v_targets": "true",
    "agent.algorithm.symmetry": "none",
    "agent.algorithm.decay_learning_rate": "false",
}
"""Everything that has a state: memories of two kinds, normalisers of observations and returns, worlds that do not
divide evenly."""


def trained(directory: Path, said: list[str] | None = None, **changes: str) -> str:
    settings = RECURRENT | {path.replace("__", "."): value for path, value in changes.items()}
    return digest(TrainRequest(TASK, list(settings.items()), log_dir=directory), said)


def digest(request: TrainRequest, said: list[str] | None = None) -> str:
    """Train, and see that no worker is left. Returns what the weights are known by."""
    _, result = train(request, say=[].append if said is None else said.append)
    assert multiprocessing.active_children() == []
    return result.weights_sha256


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A training with two workers that nothing happens to."""
    directory = tmp_path_factory.mktemp("workers") / "run"
    return SimpleNamespace(directory=directory, weights=trained(directory), metrics=metrics(directory))


def strike(monkeypatch: pytest.MonkeyPatch, blows: dict[int, tuple[int, float]]) -> None:
    """Send workers signals: to the one that is asked for the n-th time, which one, and after how many seconds."""
    ask, asked = crew.Process.ask, iter(range(1_000))

    def ask_and_strike(worker: Any, progress: float) -> None:
        ask(worker, progress)
        if (blow := blows.get(next(asked))) is not None:
            threading.Timer(blow[1], os.kill, (worker.process.pid, blow[0])).start()

    monkeypatch.setattr(crew.Process, "ask", ask_and_strike)


def test_workers_that_die_at_random_moments_change_nothing(
    undisturbed: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, said = random.Random(0), []
    numbers = draw.sample(range(2 * ITERATIONS - 2), 4)  # at most twice in the same iteration
    strike(monkeypatch, {n: (signal.SIGKILL, draw.choice([0.0, draw.uniform(0.0, 0.05)])) for n in numbers})
    assert trained(tmp_path / "run", said) == undisturbed.weights
    assert len([line for line in said if "died of SIGKILL; another one repeats" in line]) >= 3
    assert metrics(tmp_path / "run") == undisturbed.metrics


def test_a_worker_that_hangs_is_replaced(
    undisturbed: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"GRACE_S": 2.0, "POLL_S": 0.1}.items():
        monkeypatch.setattr(crew, name, value)
    strike(monkeypatch, {5: (signal.SIGSTOP, 0.0)})
    said: list[str] = []
    assert trained(tmp_path / "run", said) == undisturbed.weights
    assert [line for line in said if "shard 2 of 2: its worker has hung for" in line]


def test_a_shard_whose_workers_all_die_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strike(monkeypatch, dict.fromkeys(range(4, 20), (signal.SIGKILL, 0.0)))
    with pytest.raises(RunStopped, match=r"shard [12] of 2: 3 workers in a row died of SIGKILL"):
        trained(tmp_path / "run")


def test_a_run_with_workers_resumes_exactly(undisturbed: SimpleNamespace, tmp_path: Path) -> None:
    trained(tmp_path / "run", agent__max_iterations="2")
    _, result = resume(TASK, tmp_path / "run", [("agent.max_iterations", str(ITERATIONS))], say=[].append)
    assert result.weights_sha256 == undisturbed.weights
    assert metrics(tmp_path / "run") == undisturbed.metrics


def test_ctrl_c_ends_the_run_after_an_iteration_that_workers_finish(tmp_path: Path) -> None:
    arguments = ("--num-envs", "4", "--workers", "2", "--max-iterations", "9999", "--log-dir", "run")
    process = start(tmp_path, "train", TASK, *arguments, start_new_session=True)
    wait_for_iteration(process, [tmp_path / "run"], 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, ""), out
    assert "repeats" not in out


def test_workers_go_with_a_learner_that_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, "train", TASK, "--workers", "2", "--num-envs", "4", "--log-dir", "run")
    wait_for_iteration(process, [tmp_path / "run"], 1)
    workers = descendants(process.pid)
    assert len(workers) >= 3  # two, and the process that they are forked from
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while alive := [pid for pid in workers if is_running(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def descendants(pid: int) -> list[int]:
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [one for child in children for one in (child, *descendants(child))]


def test_the_number_of_workers_is_part_of_a_run(undisturbed: SimpleNamespace, tmp_path: Path) -> None:
    shutil.copytree(undisturbed.directory, tmp_path / "run")
    with pytest.raises(UserError, match=r"agent\.rollout\.workers cannot change in a resumed run"):
        resume(TASK, tmp_path / "run", [("agent.rollout.workers", "3")])


def test_a_damaged_shard_is_named(undisturbed: SimpleNamespace, tmp_path: Path) -> None:
    shutil.copytree(undisturbed.directory, tmp_path / "run")
    file = next((tmp_path / "run").glob("state/*.pt"))
    saved = torch.load(file, weights_only=True)
    del saved["shards"][1]["env"]["streams"]
    torch.save(saved, file)
    with pytest.raises(UserError, match="shard 2 of 2: KeyError: 'streams'"):
        resume(TASK, tmp_path / "run", [("agent.max_iterations", "20")], say=[].append)


# Learners of other libraries, which look at every control step

STEPPED = {
    "skrl": {"agent.algorithm": "SAC", "agent.off_policy.batch_size": "8", "agent.off_policy.log_interval": "10"},
    "sb3": {"agent.algorithm": "PPO", "agent.on_policy.num_steps": "10", "agent.on_policy.num_mini_batches": "1"},
}


def stepped_request(backend: str, directory: Path, steps: int = 300, workers: int = 2) -> TrainRequest:
    small = {"env.num_envs": "5", "env.episode_length_s": "0.2", "agent.max_iterations": str(steps)}
    small |= {"agent.rollout.workers": str(workers), "agent.save_interval": "100", **STEPPED[backend]}
    if backend == "skrl":
        small |= {"agent.off_policy.learning_starts": "100"}
    return TrainRequest(TASK, list(small.items()), backend=backend, log_dir=directory)


@pytest.fixture(scope="module", params=STEPPED)
def undisturbed_steps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    directory = tmp_path_factory.mktemp("stepped") / "run"
    weights = digest(stepped_request(request.param, directory))
    return SimpleNamespace(backend=request.param, weights=weights, metrics=metrics(directory))


def test_workers_that_are_stepped_die_and_change_nothing(
    undisturbed_steps: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepped, "KEPT", 7)
    said: list[str] = []
    strike(monkeypatch, dict.fromkeys((11, 40, 41, 95), (signal.SIGKILL, 0.0)))
    assert digest(stepped_request(undisturbed_steps.backend, tmp_path / "run"), said) == undisturbed_steps.weights
    assert len([line for line in said if "died of SIGKILL; another one repeats" in line]) == 4
    assert metrics(tmp_path / "run") == undisturbed_steps.metrics


def test_a_run_with_stepped_workers_resumes_exactly(undisturbed_steps: SimpleNamespace, tmp_path: Path) -> None:
    digest(stepped_request(undisturbed_steps.backend, tmp_path / "run", steps=100))
    _, result = resume(TASK, tmp_path / "run", [("agent.max_iterations", "300")], say=[].append)
    assert result.weights_sha256 == undisturbed_steps.weights
    assert metrics(tmp_path / "run") == undisturbed_steps.metrics


def test_stepped_workers_do_what_environments_with_their_seeds_do() -> None:
    request = stepped_request("sb3", Path("unused"))
    setup = resolve(TASK, backend="sb3", overrides=request.overrides)
    env = stepped.SteppedEnv(ManagerBasedRlEnv(setup.env_cfg, seed=1), setup.agent_cfg, Hooks())
    alone = [shard.make_env() for shard in env.crew.shards]
    for shard in alone:
        shard.randomize_episode_start()
    with closing(SimpleNamespace(close=env.crew.end)):
        env.begin()
        for step in range(30):
            actions = torch.full((5, 1), 0.1 * step)
            obs, *outcome, extras = env.step(actions)
            apart = [shard.step(actions[:rows]) for shard, rows in zip(alone, (2, 3), strict=True)]
            for mine, theirs in zip((*outcome,), zip(*(parts[1:4] for parts in apart), strict=True), strict=True):
                assert torch.equal(mine, torch.cat(theirs))
            for name in obs:
                assert torch.equal(obs[name], torch.cat([parts[0][name] for parts in apart]))
                last = torch.cat([parts[4]["final_obs"][name] for parts in apart])
                assert torch.equal(extras["final_obs"][name], last)
    assert env.episode_stats.returns  # episodes of 0.2 s have ended
    assert len(env.episode_stats.returns) == sum(len(shard.episode_stats.returns) for shard in alone)


# What a shard does


def learner(task: str = TASK, workers: int = 2, **changes: str) -> ShardedLearner:
    settings = {"env.num_envs": "6", "agent.num_steps_per_env": "5", "agent.rollout.workers": str(workers)}
    settings |= {path.replace("__", "."): value for path, value in changes.items()}
    setup = resolve(task, overrides=list(settings.items()))
    torch.manual_seed(0)
    return ShardedLearner(ManagerBasedRlEnv(setup.env_cfg, seed=1), setup.agent_cfg, infos={})


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        (ROUGH, {"env__num_envs": "7"}),
        (TASK, {"agent__num_unrolls": "2", "agent__action_repeat": "3", "env__episode_length_s": "0.1"}),
        (TASK, {"agent__actor__rnn_type": "gru", "agent__algorithm__symmetry": "none"}),
    ],
)
def test_the_learner_gets_what_the_shards_do_in_order(task: str, changes: dict[str, str]) -> None:
    made = learner(task, **changes)
    rollouts = tensors(part(made.method.storage, slice(None)))
    weights = {name: network.state_dict() for name, network in made.networks().items()}
    with closing(made):
        made.start()
        for _ in range(2):
            made._collect()
    here = [tensor.clone() for tensor in rollouts]
    for tensor in rollouts:
        tensor.zero_()
    for shard in made.crew.shards:  # in this process, one after the other, into the same memory
        with torch.random.fork_rng():
            alone = RolloutWorker(shard, None)
            for _ in range(2):
                alone.work(weights, progress=0.0)
    assert all(map(torch.equal, here, rollouts))
    assert any(tensor.any() for tensor in rollouts)


def test_one_shard_does_what_one_process_does_with_the_same_random_numbers() -> None:
    made = learner(workers=1, env__episode_length_s="0.1")
    with closing(made):
        made.start()
        made._collect()
    seed = derive_seed(made.agent_cfg.seed, "shard 1 of 1")
    alone = RslRlLearner(ManagerBasedRlEnv(made.env.cfg, seed), made.agent_cfg, infos={})
    for name, network in made.networks().items():
        alone.networks()[name].load_state_dict(network.state_dict())
    torch.manual_seed(derive_seed(seed, "actions"))
    alone.start()
    alone._collect()
    both = [tensors(part(one.method.storage, slice(None))) for one in (made, alone)]
    assert all(map(torch.equal, *both))
    assert list(made.env.episode_stats.returns) == list(alone.env.episode_stats.returns)
    ours, theirs = made.env.pop_episode_stats(), alone.env.pop_episode_stats()
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert "termination/time_out" in ours


def test_shards_share_the_columns_of_a_terrain_as_one_process_does() -> None:
    made = learner(ROUGH, env__num_envs="7")
    parts = [ManagerBasedRlEnv(shard.env_cfg, 0, shard.first_world).spawn.column for shard in made.crew.shards]
    assert torch.equal(torch.cat(parts), made.env.spawn.column)


@given(num_envs=st.integers(1, 10_000), workers=st.integers(1, 64))
def test_shards_are_all_worlds_in_order_and_as_even_as_can_be(num_envs: int, workers: int) -> None:
    workers = min(workers, num_envs)
    worlds = [list(range(num_envs)[shard]) for shard in crew.cut(num_envs, workers)]
    assert [world for shard in worlds for world in shard] == list(range(num_envs))
    assert {len(shard) for shard in worlds} <= {num_envs // workers, -(-num_envs // workers)}


# Mistakes and faults


def faulty(env: ManagerBasedRlEnv, fault: str = "", worlds: int = 0) -> Tensor:
    """Zero; after a while it fails where there are so many worlds.  (N, 1)"""
    if env.step_count > 6 and env.num_envs == worlds:
        if fault == "raises":
            raise KeyError("a mistake in a term")
        return torch.full((env.num_envs, 1), float(fault))
    return torch.zeros(env.num_envs, 1)


def env_cfg(play: bool = False) -> ManagerBasedRlEnvCfg:
    cfg = single(play)
    for group in cfg.observations.values():
        group.terms["faulty"] = ObservationTermCfg(faulty)
    return cfg


@pytest.fixture
def fault(offer: Callable[[object], None], tmp_path: Path) -> Callable[[str], None]:
    """Train with a term that fails in the second shard, which has three of five worlds."""
    agents = {"rsl_rl": "genelab.rl.cfg:RslRlOnPolicyRunnerCfg"}
    offer(TaskSpec(id=FAULTY, summary="for tests", env=f"{__name__}:env_cfg", agents=agents))
    small = {"env.num_envs": "5", "agent.num_steps_per_env": "4", "agent.rollout.workers": "2"}

    def call(kind: str) -> None:
        path = "env.observations.policy.terms.faulty.params"
        overrides = [*small.items(), (f"{path}.fault", kind), (f"{path}.worlds", "3")]
        train(TrainRequest(FAULTY, overrides, log_dir=tmp_path / "run"), say=lambda line: None)

    return call


def test_an_error_in_a_worker_arrives_with_its_shard_and_where_it_came_from(fault: Callable[[str], None]) -> None:
    with pytest.raises(RuntimeError, match=r"^shard 2 of 2: KeyError: 'a mistake in a term'") as caught:
        fault("raises")
    assert "in faulty" in caught.value.__notes__[0]


def test_what_is_not_finite_is_named_with_its_shard(fault: Callable[[str], None]) -> None:
    named = r"first not finite: observation term 'policy\.faulty' in shard 2 of 2; no checkpoint"
    with pytest.raises(Diverged, match=named):
        fault("nan")


def test_workers_that_cannot_be_are_one_line(mistake: Callable[..., str], tmp_path: Path) -> None:
    few = ("train", TASK, "--num-envs", "4", "--log-dir", tmp_path / "run")
    assert "agent.rollout.workers must be at most env.num_envs, 4" in mistake(*few, "--workers", "5")
    assert "agent.rollout.workers must be at least 0" in mistake(*few, "--workers", "-1")
    assert "only rsl_rl learns in several processes" in mistake(*few, "--backend", "skrl", "--gpus", "2")
    with pytest.raises(UserError, match=r"env\.simulation\.vis needs all worlds in this process"):
        learner(env__simulation__vis="true")


def test_too_little_shared_memory_is_found_before_it_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    with pytest.raises(UserError, match=r"rollouts of workers take 0 MB of shared memory, and /dev/shm has room for 0"):
        learner()


def test_a_task_has_no_workers_unless_asked_for() -> None:
    assert find(TASK).agent_cfg().rollout.workers == 0
