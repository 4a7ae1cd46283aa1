"""Checkpoints are read without running anything in them, and a wrong file is a one-line error."""

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genelab.core.errors import UserError
from genelab.rl.checkpoint import INFO_KEY, read_checkpoint, read_tensors, weights_digest

TASK = "GeneLab-Inverted-Pendulum-v0"


class Malicious:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path):
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.trace),)


@pytest.fixture(scope="module")
def good(trained_run: Path) -> Path:
    return trained_run / "model_final.pt"


def _wrong_files(path: Path, good: Path) -> dict[str, Callable[[], object]]:
    data = good.read_bytes()
    return {
        "missing": lambda: None,
        "a directory": path.mkdir,
        "empty": lambda: path.write_bytes(b""),
        "text": lambda: path.write_text("these are not the weights you are looking for\n"),
        "json": lambda: path.write_text('{"infos": {"task": "x"}}'),
        "a pickle": lambda: path.write_bytes(pickle.dumps({"a": 1})),
        "a pickle of a class": lambda: path.write_bytes(pickle.dumps(Path("x"))),
        "truncated to a half": lambda: path.write_bytes(data[: len(data) // 2]),
        "truncated by one byte": lambda: path.write_bytes(data[:-1]),
        "truncated to one byte": lambda: path.write_bytes(data[:1]),
        "zeros of the right size": lambda: path.write_bytes(bytes(len(data))),
        "some zip": lambda: zipfile.ZipFile(path, "w").close(),
        "tensors of another program": lambda: torch.save({"weight": torch.zeros(3)}, path),
        "one tensor": lambda: torch.save(torch.zeros(3), path),
        "a list": lambda: torch.save([1, 2], path),
        "infos that are no dict": lambda: torch.save({INFO_KEY: None}, path),
        "infos without a task": lambda: torch.save({INFO_KEY: {}}, path),
        "a whole module": lambda: torch.save(torch.nn.Linear(1, 1), path),
        "TorchScript": lambda: torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(path)),
    }


WRONG = list(_wrong_files(Path(), Path(__file__)))


@pytest.mark.parametrize("kind", WRONG)
def test_a_file_that_is_no_checkpoint_is_a_one_line_error_that_names_it(
    kind: str, good: Path, tmp_path: Path, mistake: Callable[..., str]
) -> None:
    path = tmp_path / "wrong.pt"
    _wrong_files(path, good)[kind]()
    assert "wrong.pt" in mistake("eval", TASK, path, "--episodes", 1)


@pytest.mark.parametrize("key", ["agent", "backend", "task"])
def test_a_checkpoint_that_does_not_say_where_it_comes_from_is_a_one_line_error(
    key: str, good: Path, tmp_path: Path, mistake: Callable[..., str]
) -> None:
    data = torch.load(good, weights_only=True)
    del data[INFO_KEY][key]
    torch.save(data, tmp_path / "anonymous.pt")
    mistake("eval", TASK, tmp_path / "anonymous.pt", "--episodes", 1)


def test_a_checkpoint_without_weights_is_a_one_line_error(
    good: Path, tmp_path: Path, mistake: Callable[..., str]
) -> None:
    data = torch.load(good, weights_only=True)
    torch.save({INFO_KEY: data[INFO_KEY]}, tmp_path / "hollow.pt")
    assert "does not fit" in mistake("eval", TASK, tmp_path / "hollow.pt", "--episodes", 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_checkpoint_cut_off_anywhere_is_never_accepted(data: st.DataObject, good: Path, tmp_path: Path) -> None:
    whole = good.read_bytes()
    path = tmp_path / "cut.pt"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(UserError, match=r"cut\.pt"):
        read_checkpoint(path)


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300))
def test_random_bytes_are_a_user_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random.pt"
    path.write_bytes(content)
    with pytest.raises(UserError):
        read_checkpoint(path)


def test_a_checkpoint_of_another_task_is_an_error_that_names_both(good: Path, mistake: Callable[..., str]) -> None:
    error = mistake("eval", "GeneLab-Double-Inverted-Pendulum-v0", good, "--episodes", 1)
    assert f"checkpoint of task '{TASK}', not of 'GeneLab-Double-Inverted-Pendulum-v0'" in error


@pytest.mark.parametrize("save", [lambda data, path: path.write_bytes(pickle.dumps(data)), torch.save])
def test_code_in_a_file_is_not_run(save: Callable[..., object], tmp_path: Path) -> None:
    trace = tmp_path / "was_run"
    save({INFO_KEY: {"task": TASK}, "payload": Malicious(trace)}, tmp_path / "trap.pt")
    with pytest.raises(UserError, match=r"trap\.pt"):
        read_checkpoint(tmp_path / "trap.pt", TASK)
    assert not trace.exists()


def test_the_trap_of_the_test_above_would_be_sprung_by_a_careless_reader(tmp_path: Path) -> None:
    trace = tmp_path / "was_run"
    pickle.loads(pickle.dumps(Malicious(trace)))
    assert trace.exists()


def test_a_checkpoint_says_where_it_comes_from(good: Path) -> None:
    infos = read_checkpoint(good, TASK)[INFO_KEY]
    assert infos["task"] == TASK
    assert set(infos) >= {"backend", "seed", "preset", "engine", "git_commit", "versions", "agent", "env_changes"}


def test_a_checkpoint_is_of_any_task_if_none_is_asked_for(good: Path) -> None:
    assert read_checkpoint(good)["iter"] == 3


def test_the_state_to_resume_from_is_read_without_running_code_too(trained_run: Path) -> None:
    assert read_tensors(trained_run / "state/resume.pt")["checkpoint"]["iter"] == 3


def test_the_digest_depends_on_values_names_and_shapes() -> None:
    ones = torch.ones(2, 3)
    digests = {
        weights_digest({"a": ones}),
        weights_digest({"b": ones}),
        weights_digest({"a": ones.reshape(3, 2)}),
        weights_digest({"a": ones + 1}),
        weights_digest({"a": ones.double()}),
    }
    assert len(digests) == 5


def test_the_digest_does_not_depend_on_the_order_of_tensors() -> None:
    a, b = torch.zeros(2), torch.ones(2)
    assert weights_digest({"a": a, "b": b}) == weights_digest({"b": b, "a": a})
