"""``train --logger wandb``: Weights & Biases beside TensorBoard, with the real package, offline."""

import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from genelab.core.files import read_json

TASK = "GeneLab-Inverted-Pendulum-v0"
BLOCK = 32768
SHORT = ("--num-envs", "8", "--max-iterations", "2")


def records(path: Path) -> Iterator[bytes]:
    """What is in a file that wandb keeps offline: a log of records in blocks, as LevelDB has them."""
    data, at, record = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if (left := BLOCK - at % BLOCK) < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or its last part
            yield record
            record = b""


def history(directory: Path) -> list[dict[str, Any]]:
    """The metrics in the files that wandb keeps offline."""
    from wandb.proto import wandb_internal_pb2

    rows = []
    for file in sorted(directory.glob("wandb/offline-run-*/*.wandb")):
        for data in records(file):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.WhichOneof("record_type") == "history":
                items = record.history.item
                rows.append({item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items})
    return rows


def test_metrics_go_to_wandb_too_and_a_resumed_run_goes_on(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tmp_path / "run"
    assert cli("train", TASK, *SHORT, "--logger", "wandb", "--log-dir", run).code == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rows = history(run)
    assert [row["_step"] for row in rows] == [1, 2]
    assert [row["train/steps"] for row in rows] == [line["steps"] for line in lines]
    assert list(run.glob("events.out.tfevents.*"))
    assert read_json(run / "run.json")["logger"] == "wandb"
    assert cli("train", TASK, "--resume", run, "--max-iterations", "3").code == 0
    assert history(run)[-1]["_step"] == 3


def test_an_unknown_logger_is_one_line(mistake: Callable[..., str]):
    assert mistake("train", TASK, "--logger", "wandbb").endswith("unknown logger 'wandbb' (did you mean 'wandb'?)")


def test_a_logger_that_is_not_installed_says_how_to_get_it(
    mistake: Callable[..., str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert mistake("train", TASK, "--logger", "wandb").endswith("is not installed: pip install 'genelab[wandb]'")


def test_a_resumed_run_keeps_its_logger(mistake: Callable[..., str], tmp_path: Path):
    assert "--logger has no place beside --resume" in mistake("train", TASK, "--resume", tmp_path, "--logger", "wandb")
