"""A Ray cluster of several nodes in this machine: the weights of this machine, whichever nodes leave."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genelab.core.run_files import seed_directory
from genelab.experiment import cluster
from genelab.experiment.cluster import RayRuns, connect, pack, unpack, workers
from genelab.experiment.seeds import train_seeds
from genelab.experiment.train import TrainRequest, train
from runs import meta, metrics
from test_printed_commands import CLUSTER, run_page

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")  # one cluster for all tests
TASK = "GeneLab-Inverted-Pendulum-v0"
SETTINGS = {
    "env.num_envs": "8",
    "env.episode_length_s": "0.2",
    "agent.num_steps_per_env": "8",
    "agent.torch_threads": "1",
    "agent.save_interval": "100",
    "agent.algorithm.num_mini_batches": "1",
}


class Nodes:
    """A cluster with a node for whoever calls, and nodes with a core each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        quick = {"health_check_period_ms": 200, "health_check_failure_threshold": 3, "health_check_timeout_ms": 2000}
        self.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        )
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.address = self.cluster.address

    def replace_all(self) -> None:
        """All nodes leave without a word, and others come."""
        for node in self.nodes:
            self.cluster.remove_node(node, allow_graceful=False)
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    connect(made.address)
    yield made
    ray.shutdown()
    made.cluster.shutdown()


def request(**changes: str) -> TrainRequest:
    return TrainRequest(TASK, list((SETTINGS | {name.replace("__", "."): v for name, v in changes.items()}).items()))


def trained(directory: Path, kind: Any = None, said: list[str] | None = None) -> str:
    asked = request(agent__rollout__workers="2", agent__max_iterations="4")
    asked = TrainRequest(asked.task, asked.overrides, log_dir=directory)
    return train(asked, say=[].append if said is None else said.append, workers=kind)[1].weights_sha256


def test_shards_on_a_cluster_learn_what_they_learn_here_even_if_all_nodes_leave(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, asked = workers(nodes.address), iter(range(100))
    ask = actor.ask

    def ask_and_leave(worker: Any, message: bytes) -> None:
        ask(worker, message)
        if next(asked) == 5:  # both have been asked for the third time
            nodes.replace_all()

    monkeypatch.setattr(actor, "ask", ask_and_leave)
    said: list[str] = []
    assert trained(tmp_path / "ray", actor, said) == trained(tmp_path / "here")
    assert metrics(tmp_path / "ray") == metrics(tmp_path / "here")
    assert len([line for line in said if "with its node; another one repeats the iteration" in line]) == 2


def test_a_run_on_a_cluster_comes_home_and_goes_on_elsewhere_when_its_node_leaves(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "INTERVAL_S", 0.2)
    asked = request(agent__max_iterations="400")
    home, here = tmp_path / "home", tmp_path / "here"

    class Leaving(RayRuns):
        left = False

        def ended(self) -> dict[Path, int | None]:
            lines = [directory / "metrics.jsonl" for directory in self._running]
            if not self.left and lines and all(path.exists() for path in lines):
                nodes.replace_all()
                self.left = True
            return super().ended()

    said: list[str] = []
    on_cluster = TrainRequest(asked.task, asked.overrides, log_dir=home)
    assert train_seeds(on_cluster, [1], 1, said.append, partial(Leaving, nodes.address)) == 0
    assert [line for line in said if "continued" in line]
    train_seeds(TrainRequest(asked.task, asked.overrides, log_dir=here), [1], 1, said.append)
    ours, theirs = seed_directory(home, 1), seed_directory(here, 1)
    assert meta(ours)["weights_sha256"] == meta(theirs)["weights_sha256"]
    assert metrics(ours) == metrics(theirs)
    assert sorted(path.name for path in ours.glob("model_*")) == sorted(path.name for path in theirs.glob("model_*"))


def test_a_run_that_waits_for_a_free_node_does_not_keep_the_command_from_stopping(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "INTERVAL_S", 0.2)
    waiting = RayRuns(nodes.address, lambda directory: (99, 0))
    waiting.start(["train", TASK], tmp_path / "run")
    waiting.stop()
    assert waiting.ended() == {}


def test_the_page_about_clusters_runs_as_printed(
    nodes: Nodes, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(CLUSTER, cli, lambda *words: pytest.fail(f"no script is expected: {words}"))
    here, there = (meta(tmp_path / "runs" / name)["weights_sha256"] for name in ("here", "there"))
    assert here == there


def test_what_cannot_be_on_a_cluster_is_one_line(mistake: Callable[..., str], nodes: Nodes, tmp_path: Path) -> None:
    words = ("train", TASK, "--log-dir", tmp_path / "run")
    assert "did you mean 'ray'?" in mistake(*words, "--launcher", "rey")
    assert "--address goes with --launcher ray" in mistake(*words, "--address", nodes.address)
    assert "--launcher ray goes with --workers" in mistake(*words, "--launcher", "ray", "--address", nodes.address)


names = st.text("abc", min_size=1, max_size=3)


@given(files=st.dictionaries(st.tuples(names, names).map("/".join), st.binary(max_size=50), max_size=5))
@settings(max_examples=20, deadline=None)
def test_files_come_home_once_each_time_they_change(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    there, home, sent = tmp_path_factory.mktemp("there"), tmp_path_factory.mktemp("home"), {}
    for name, data in files.items():
        (there / name).parent.mkdir(exist_ok=True)
        (there / name).write_bytes(data)
    unpack(pack(there, sent), home)
    assert {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*/*")} == files
    nothing = pack(there, sent)
    assert len(nothing) == len(pack(there, dict(sent)))
    for name in files:
        (there / name).write_bytes(b"changed")
    time.sleep(0.01)
    unpack(pack(there, sent), home)
    assert {path.read_bytes() for path in home.rglob("*/*")} <= {b"changed"}
