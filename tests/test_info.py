"""`genelab info` on a terminal, as data, and how little it loads."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from terminal import run_in_terminal, screen

GO1 = "Genelab-Velocity-Flat-Unitree-Go1-v0"
FRANKA = "GeneLab-Franka-Pick-And-Place-v0"


@pytest.fixture
def facts(cli: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def call(*arguments: object) -> dict[str, Any]:
        outcome = cli("info", *arguments, "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    return call


def test_observations_have_sizes_and_units(facts: Callable[..., dict[str, Any]]):
    tables = facts(GO1)["tables"]
    terms = {row["name"]: row for row in tables["observations: policy (45)"]}
    assert (terms["ang_vel"]["size"], terms["ang_vel"]["unit"]) == (3, "rad/s")
    assert (terms["command"]["size"], terms["command"]["unit"]) == (3, "m/s, m/s, rad/s")


def test_actions_have_sizes_ranges_and_units(facts: Callable[..., dict[str, Any]]):
    [legs] = facts(GO1)["tables"]["actions"]
    assert (legs["size"], legs["range"], legs["unit of control"]) == (12, "±100", "rad")
    hand, gripper = facts(FRANKA)["tables"]["actions"]
    assert (hand["size"], hand["range"], hand["unit of control"]) == (3, "±1", "m")
    assert (gripper["size"], gripper["range"], gripper["unit of control"]) == (1, "±1", "m")


def test_data_has_presets_and_every_path_with_type_range_and_value(facts: Callable[..., dict[str, Any]]):
    record = facts(GO1, "--env.num_envs", 7)
    assert record["preset"] == "cpu"
    assert {"path": "agent.max_iterations", "value": "620"} in record["presets"]["cpu"]
    assert {"path": "env.num_envs", "type": "int", "range": "1 to 1,000,000", "value": "7"} in record["overrides"]
    assert record["backends"] == ["rsl_rl"]


def test_data_of_the_overrides_alone_has_nothing_else(facts: Callable[..., dict[str, Any]]):
    assert set(facts(GO1, "--overrides")) == {"task", "overrides"}


@pytest.mark.parametrize("columns", [80, 140])
def test_text_and_tables_fit_the_terminal(columns: int, tmp_path: Path):
    code, written = run_in_terminal("info", GO1, cwd=tmp_path, columns=columns)
    lines = screen(written)
    assert code == 0
    assert columns - 10 < max(map(len, lines)) <= columns


@pytest.mark.parametrize("kind", ["tasks", "engines", "robots"])
def test_lists_wrap_within_their_columns_on_a_narrow_terminal(kind: str, tmp_path: Path):
    code, written = run_in_terminal("list", kind, cwd=tmp_path, columns=60)
    lines = screen(written)
    assert code == 0
    assert max(map(len, lines)) <= 60
    second = lines[0].index(lines[0].split()[1])  # where the second column begins
    assert any(line.strip() and not line[:second].strip() for line in lines[2:]), "something has wrapped"


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (("info", GO1), {"tensordict", "rsl_rl", "gymnasium", "onnx", "scipy", "tensorboard", "torch._dynamo"}),
        (("list",), {"torch", "numpy", "mujoco", "gymnasium"}),
        (("train", "--help"), {"torch", "numpy", "mujoco", "gymnasium"}),
    ],
    ids=["info", "list", "help"],
)
def test_commands_that_only_tell_load_nothing_that_trains(arguments: tuple[str, ...], heavy: set[str]):
    program = "import sys; from genelab.cli.main import run; run(sys.argv[1:]); print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.rpartition("LOADED ")[2].split())
