"""Files that are damaged are refused, or read as they were written."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attacks import damage
from genelab.core.errors import UserError
from genelab.core.files import read_json, sealed, unsealed

TASK = "GeneLab-Inverted-Pendulum-v0"


def test_no_damage_goes_unnoticed() -> None:
    trials = list(damage.run(count=80, seed=0))
    assert [str(trial) for trial in trials if trial.outcome == "broke"] == []
    assert sum(trial.outcome == "refused" for trial in trials) > 60


def test_every_bit_of_a_record_counts() -> None:
    import json

    text = json.dumps(sealed({"task": "A", "seed": 1, "rate": 0.25, "on": True}))
    accepted = []
    for bit in range(8 * len(text)):
        data = bytearray(text.encode())
        data[bit // 8] ^= 1 << bit % 8
        try:
            accepted.append(unsealed(json.loads(data), "it"))
        except (UserError, ValueError):
            continue
    assert accepted == []


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained_run, tmp_path / "run")


def test_a_flipped_bit_in_the_state_does_not_resume_to_other_weights(run: Path, mistake: Callable[..., str]) -> None:
    path = run / "state/resume.pt"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "is damaged" in mistake("train", TASK, "--resume", run)


def test_a_file_that_was_changed_by_hand_says_what_to_do_and_that_helps(
    run: Path, mistake: Callable[..., str], cli: Callable[..., Any]
) -> None:
    path = run / "params/agent.json"
    path.write_text(path.read_text().replace('"max_iterations": 3', '"max_iterations": 4'))
    assert 'if you changed it on purpose, remove the entry "checksum"' in mistake("train", TASK, "--resume", run)
    lines = path.read_text().splitlines()
    assert "checksum" in lines[-2]
    path.write_text("\n".join([*lines[:-3], lines[-3].rstrip(","), lines[-1]]))
    assert cli("train", TASK, "--resume", run).code == 0
    assert read_json(run / "run.json")["iteration"] == 4


@pytest.mark.parametrize("line", [0, -1])
def test_a_damaged_line_of_the_metrics_is_named(line: int, run: Path, mistake: Callable[..., str]) -> None:
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines()
    lines[line] = lines[line].replace("1", "2")
    path.write_text("\n".join(lines) + "\n")
    assert f"metrics.jsonl' line {range(1, 4)[line]} is damaged" in mistake("train", TASK, "--resume", run)


def test_lost_lines_of_the_metrics_are_noticed(run: Path, mistake: Callable[..., str], cli: Callable[..., Any]) -> None:
    path = run / "metrics.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert "metrics.jsonl' has lost lines" in mistake("train", TASK, "--resume", run)
    path.unlink()
    assert cli("train", TASK, "--resume", run).code == 0
