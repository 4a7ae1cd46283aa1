"""genelab benchmark"""

from pathlib import Path
from typing import Annotated

import typer

from genelab.cli.options import option
from genelab.experiment.console import say


def benchmark(
    suite: Annotated[str, typer.Option(help="Evaluate what this JSON list says, or 'bundled'.")] = "bundled",
    out: Annotated[Path | None, option("Write the report to this JSON file.")] = None,
    reference: Annotated[
        str | None, option("Compare with this earlier report, or 'bundled'. A regression exits with 1.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Allow a drop by this fraction of the reference's magnitude.")] = 0.1,
    episodes: Annotated[int | None, option("Run this many episodes per entry, instead of the suite's.")] = None,
) -> int:
    """Evaluate a suite of checkpoints and compare it with a reference.

    Example: genelab benchmark --suite suite.json --reference baseline.json --tolerance 0.1
    """
    from genelab.experiment.benchmark import run_benchmark
    from genelab.experiment.inference import bundle_directory

    bundle = bundle_directory()
    chosen = bundle / "suite.json" if suite == "bundled" else Path(suite)
    earlier = bundle / "reference.json" if reference == "bundled" else Path(reference) if reference else None
    report = run_benchmark(chosen, out=out, reference=earlier, tolerance=tolerance, episodes=episodes, say=say)
    if out is not None:
        say(f"report: {out}")
    return 0 if report["passed"] else 1
