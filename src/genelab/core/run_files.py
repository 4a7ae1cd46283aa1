"""Names of the files in a run directory, for those who write them and those who read them.

    run.json                     what was run, with what, and how it ended
    params/env.json, agent.json  complete configs; a run can be rebuilt from them
    metrics.jsonl                one line per iteration; also as TensorBoard events
    model_<iter>.pt              checkpoints; model_final.pt at the end (sb3: model_<steps>_steps.zip and model.zip)
    state/resume.pt              the last complete state
    evaluations.jsonl            one line per evaluation during training
    best_model.<ext>             the checkpoint with the best of them, and best_model_meta.json about it
    eval.json, report.html, video.mp4      when asked for
    run.lock                     names the process that trains here; only there while one does

The parent of several seeds has a directory ``seed_<S>`` for each of them, and summary.json.
"""

from pathlib import Path
from typing import Any

from genelab.core.files import read_json_lines
from genelab.core.ranges import CountOrZero
from genelab.core.stored_config import stored

RUN_FILE = "run.json"
ENV_FILE = "params/env.json"
AGENT_FILE = "params/agent.json"
METRICS_FILE = "metrics.jsonl"
FINAL_MODELS = ("model_final.pt", "model.zip")
"""The last checkpoint of a run, by its backend."""
STATE_FILE = "state/resume.pt"
EVALUATIONS_FILE = "evaluations.jsonl"
BEST_MODEL = "best_model"
BEST_META_FILE = "best_model_meta.json"
EVAL_FILE = "eval.json"
REPORT_FILE = "report.html"
VIDEO_FILE = "video.mp4"
SUMMARY_FILE = "summary.json"
LOCK_FILE = "run.lock"
SPARE_FILE = ".run.json.failed.tmp"
"""run.json of a run that failed, while it runs: on a full disk it can be renamed when nothing can be written."""


def seed_directory(parent: Path, seed: int) -> Path:
    """The run of one of several seeds."""
    return parent / f"seed_{seed}"


def read_iterations(path: Path) -> list[dict[str, Any]]:
    """The records of a file with one per line, each of an iteration; none if there is no such file."""
    records = read_json_lines(path)
    for number, record in enumerate(records, start=1):
        stored(record, "iteration", CountOrZero, f"'{path}' line {number}")
    return records
