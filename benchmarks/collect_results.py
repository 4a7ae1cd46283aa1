"""Keep the results of multi-seed runs: copies run.json, eval.json and, if there is one, probe.json of every seed.

    genelab train TASK --seeds 1,2,3 --preset P --log-dir RUNS
    genelab eval TASK RUNS/seed_S/model_final.pt --out RUNS/seed_S/eval.json       (for each seed)
    genelab probe TASK RUNS/seed_S/model_final.pt --out RUNS/seed_S/probe.json     (velocity tasks)
    python benchmarks/collect_results.py RUNS … [--name NAME]

A run is kept under its preset, and its engine unless that is the default; `--name` says otherwise.
`docs/make_pages.py` makes the tables of the README from these files.
"""

import argparse
import re
import shutil
from pathlib import Path

from genelab.core.files import read_json, read_json_lines, write_json

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
CURVE_POINTS = 100


def collect(run: Path, name: str | None) -> None:
    """Copy one run's record and evaluation, with its training time and a learning curve."""
    meta = read_json(run / "run.json")
    lines = read_json_lines(run / "metrics.jsonl")
    meta["train_seconds"] = round(sum(line["collect_s"] + line["learn_s"] for line in lines), 1)
    meta["samples"] = int(lines[-1]["steps"])
    every = max(1, len(lines) // CURVE_POINTS)
    kept = [*lines[every - 1 : -1 : every], lines[-1]]
    meta["curve"] = [[line["iteration"], round(line.get("return_mean", float("nan")), 4)] for line in kept]
    if meta.get("warm_start"):  # a path of this machine says nothing to another; the run may be of another checkout
        meta["warm_start"] = re.sub(r"^/.*?/(?=(results|logs)/)", "", meta["warm_start"])
    evaluation = read_json(run / "eval.json")
    kind = name or (meta["preset"] if meta["engine"] == "mujoco" else f"{meta['preset']}-{meta['engine']}")
    target = RESULTS / meta["task"] / kind / f"seed_{meta['seed']}"
    target.mkdir(parents=True, exist_ok=True)
    write_json(target / "run.json", meta)
    write_json(target / "eval.json", evaluation)
    if (run / "probe.json").exists():
        shutil.copy(run / "probe.json", target / "probe.json")
    print(f"{target.relative_to(ROOT)}: {evaluation['metrics']['return_mean']:.3f}, {meta['train_seconds']} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="parents of seed_<S> directories")
    parser.add_argument("--name", help="what to keep them as, instead of their preset")
    arguments = parser.parse_args()
    for parent in arguments.runs:
        for run in sorted(parent.glob("seed_*/run.json")):
            collect(run.parent, arguments.name)


main()
