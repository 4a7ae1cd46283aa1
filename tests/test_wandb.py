"""``train --logger wandb``: Weights & Biases beside TensorBoard, with the real package, offline."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genelab.core.json_data import read_json
from genelab.core.registry import Component
from genelab.experiment.run import tracker

TASK = "GeneLab-Inverted-Pendulum-v0"
SHORT = ("--num-envs", "8", "--max-iterations", "2")


def history(directory: Path) -> list[dict[str, Any]]:
    """The records of metrics in the files that wandb keeps offline."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    rows = []
    for file in sorted(directory.glob("wandb/offline-run-*/*.wandb")):
        store = DataStore()
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
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
    missing = Component(
        name="wandb", target="", requires="no_such_module", install="pip install genelab[wandb]", summary=""
    )
    monkeypatch.setitem(tracker.LOGGERS, "wandb", missing)
    assert "pip install genelab[wandb]" in mistake("train", TASK, "--logger", "wandb")


def test_a_resumed_run_keeps_its_logger(mistake: Callable[..., str], tmp_path: Path):
    assert "--logger has no place beside --resume" in mistake("train", TASK, "--resume", tmp_path, "--logger", "wandb")
