"""What files hold is checked before it is used: another structure is refused in one line, or does not matter."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from attacks import structure
from genelab.core.errors import UserError
from genelab.core.files import parse_json
from genelab.core.ranges import CountOrZero, finite
from genelab.core.stored_config import check_record, stored
from genelab.core.tensors import restore, stored_tensor
from genelab.rl.checkpoint import load_part

TASK = "GeneLab-Inverted-Pendulum-v0"


def test_no_file_of_wrong_structure_breaks_a_command_or_changes_its_result() -> None:
    trials = list(structure.run(count=24, seed=0))
    assert [str(trial) for trial in trials if trial.outcome == "broke"] == []
    assert sum(trial.outcome == "refused" for trial in trials) > 6


@pytest.mark.parametrize(
    "value",
    [None, 0.5, [[0.0, 0.0]], torch.zeros(1, 2), torch.zeros(2, 1), torch.zeros(2).long(), torch.zeros(2).to_sparse()],
)
def test_a_tensor_is_overwritten_only_with_one_of_its_shape_and_type(value: Any) -> None:
    target = torch.ones(2)
    with pytest.raises(UserError, match="'speed' must be 2 of float32, not"):
        restore(target, {"speed": value}, "speed")
    with pytest.raises(UserError, match="'speed' is missing"):
        restore(target, {}, "speed")
    assert target.tolist() == [1.0, 1.0]


def test_a_length_may_be_left_open() -> None:
    assert len(stored_tensor({"ids": torch.arange(3)}, "ids", (-1,), torch.int64)) == 3


@pytest.mark.parametrize("value", [True, 1.0, -1, "1", [1], None, 10**400])
def test_a_count_in_a_file_is_a_whole_number(value: Any) -> None:
    with pytest.raises(UserError, match="it: 'steps' must be"):
        stored({"steps": value}, "steps", CountOrZero, "it")


@pytest.mark.parametrize("record", [None, [], "text", 7])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(UserError, match="it: expected a record"):
        check_record("it", record, {})


@pytest.mark.parametrize("text", ['"\\ud800"', "[" * 100_000, '{"a": "\\uD83D"}'])
def test_json_that_could_not_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize("value", [10**400, 1e308, math.nan, math.inf, True, "1", None])
def test_numbers_that_nothing_can_be_computed_with_are_not_finite(value: Any) -> None:
    assert finite(value) is None


def optimiser_state() -> tuple[torch.optim.Optimizer, dict[str, Any]]:
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    return torch.optim.Adam(torch.nn.Linear(3, 2).parameters()), optimiser.state_dict()


def test_the_state_of_an_optimiser_fits_one_of_its_kind() -> None:
    load_part(*optimiser_state())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("param_groups/0/lr", "fast"),
        ("param_groups/0/betas", 0.9),
        ("param_groups/0/params", [0]),
        ("param_groups", {}),
        ("state", [1]),
        ("state/0", {}),
        ("state/1/exp_avg", torch.zeros(3)),
        ("state/1/step", "many"),
    ],
)
def test_the_state_of_another_optimiser_is_refused(place: str, value: Any) -> None:
    optimiser, state = optimiser_state()
    *parents, last = [int(word) if word.isdecimal() else word for word in place.split("/")]
    node: Any = state
    for key in parents:
        node = node[key]
    node[last] = value
    with pytest.raises(UserError):
        load_part(optimiser, state)


def change_state(run: Path, change: Any) -> None:
    path = run / "state/resume.pt"
    state = torch.load(path, weights_only=True)
    change(state)
    torch.save(state, path)


def test_a_state_cannot_change_other_arrays_of_the_model_than_fields(
    trained_run: Path, tmp_path: Path, mistake: Any
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    change_state(run, lambda state: state["env"]["engine"]["model_fields"].update(jnt_type=torch.full((16, 2), 99)))
    line = mistake("train", TASK, "--resume", run, "--max-iterations", 4)
    assert line.endswith("state/resume.pt': 'jnt_type' is no array of a model field")


def test_an_error_stays_one_line_whatever_a_file_holds(tmp_path: Path, mistake: Any) -> None:
    suite = tmp_path / "suite.json"
    suite.write_text('[{"task": "a\\nb \\u001b[2J", "checkpoint": "x"}]')
    assert r"'a\nb \x1b[2J'" in mistake("benchmark", "--suite", suite)
