"""What a run records, and what it does not print."""

import threading
from pathlib import Path

import pytest

from genelab.experiment.run.logs import Logs


def test_a_thread_that_cannot_write_prints_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    logs = Logs(tmp_path, 0, 1, "iteration")
    thread = threading.Thread(target=(tmp_path / "gone/file").touch)
    thread.start()
    thread.join()
    logs.close()
    assert "Traceback" not in capsys.readouterr().err
