"""genelab sim2sim"""

from pathlib import Path
from typing import Annotated, Any

import typer

from genelab.cli.options import Dt, Gpu, Task, argument, option, shortcuts
from genelab.core.errors import UserError
from genelab.core.table import Table
from genelab.experiment.console import say

POLICY = "A checkpoint, a run directory or 'bundled'; the newest local or the bundled policy by default."
OUT = Path("sim2sim")


def sim2sim(
    ctx: typer.Context,
    task: Task,
    checkpoint: Annotated[str | None, argument(POLICY, "CKPT")] = None,
    runs: Annotated[list[str] | None, argument("More policies to test, with --matrix.", "RUN")] = None,
    engines: Annotated[
        list[str] | None, option("Compare these engines, with commas between them (mujoco,genesis).")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Run this many episodes in each engine.")] = 32,
    out: Annotated[Path, typer.Option(help="Write sim2sim.json and sim2sim.html into this directory.")] = OUT,
    margin: Annotated[float | None, option("Ignore differences in return up to this (1 % of the mean return).")] = None,
    seed: Annotated[int, typer.Option(help="Fix initial states, noise, commands and pushes.")] = 0,
    pushes: Annotated[bool, typer.Option("--pushes/--no-pushes", help="Push the robot as in training, or not.")] = True,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Move one parameter at a time: what it costs, what explains the gap.")
    ] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="Test every RUN in every engine too.")] = False,
    gpu: Gpu = False,
    dt: Dt = None,
) -> int:
    """Compare a policy between physics engines over the same episodes; exits with 1 if a gap exceeds the margin.

    Example: genelab sim2sim GeneLab-Inverted-Pendulum-v0 bundled --engines mujoco,genesis --attribute --out gap
    """
    from genelab.experiment.sim2sim.run import JSON_FILE, PAGE_FILE, Sim2SimRequest, run_sim2sim

    if matrix != bool(runs):
        raise UserError("--matrix needs runs to test" if matrix else f"'{(runs or [''])[0]}' goes with --matrix")
    chosen = [name.strip() for names in engines or ["mujoco,genesis"] for name in names.split(",") if name.strip()]
    names, tested, overrides = tuple(dict.fromkeys(chosen)), tuple(runs or ()), shortcuts(ctx.obj, gpu=gpu, dt=dt)
    request = Sim2SimRequest(task, checkpoint, names, episodes, seed, margin, pushes, attribute, tested, overrides, out)
    record = run_sim2sim(request, say)
    _print(record)
    say(f"written to {out / JSON_FILE} and {out / PAGE_FILE}")
    return 0 if record["passed"] else 1


def _print(record: dict[str, Any]) -> None:
    """The comparison as a table and lines."""
    source, baseline = record["source"], record["self_baseline"]
    for engine, gap in record["comparisons"].items():
        columns, rows = ("metric", source, engine, "difference", "95 % interval", "Holm p", *baseline), []
        for name, m in gap["metrics"].items():
            numbers = f"{m['source']:.4g}", f"{m['target']:.4g}", f"{m['difference']:+.3g}"
            tests = _ends(m["ci95"], "+.2g"), f"{m['p_holm']:.2g}"
            ours = (b["metrics"].get(name) for b in baseline.values())
            rows.append((name, *numbers, *tests, *("-" if b is None else f"{b['difference']:+.2g}" for b in ours)))
        say(Table(columns, rows, f"{engine} against {source}"))
    for engine, scripts in record["open_loop"].items():
        for script, quantities in scripts.items():
            parted = [f"{name} at step {q['first_step']}" for name, q in quantities.items() if q["first_step"]]
            say(f"open loop, {script}: {engine} parts from {source} in {', '.join(parted) or 'nothing'}")
    if moves := sorted(record.get("moves", ()), key=lambda move: -move["lost_percent"]):
        columns, rows = ("moved", "return", "lost, %", "95 % interval", f"falls of {record['num_episodes']}"), []
        for m in moves:
            lost = f"{m['lost_percent']:.1f}", _ends(m["ci95"], ".1f")
            rows.append((m["tried"], f"{m['return_mean']:.4g}", *lost, str(m["falls"])))
        say(Table(columns, rows, f"{source} with one parameter moved"))
    for engine, found in record.get("attribution", {}).items():
        say(f"{engine}: the gap is {found['size']:.3g} times what halving dt does")
        for one in found["ranking"][:3] if found["size"] > 1.0 else ():
            say(f"  {one['parameter']} explains {100 * one['explained']:.0f} % ({one['estimate'] or 'no effect'})")
    for row in record.get("matrix", []):
        cells = [f"{cell['return_mean']:.4g} in {engine}" for engine, cell in row["tested_in"].items()]
        say(f"{row['checkpoint']}, trained in {row['trained_in']}: {', '.join(cells)}")
    for name, gap in {**{f"{source}, {k}": v for k, v in baseline.items()}, **record["comparisons"]}.items():
        falls, test = gap["falls"], gap["equivalence"]
        returns = f"return {test['difference']:+.4g} (margin {test['margin']:.4g}, TOST p {test['p']:.2g})"
        fallen = f"falls {falls['source']} -> {falls['target']} (McNemar p {falls['p']:.2g})"
        say(f"{name}: {gap['verdict']}, {returns}, {fallen}")


def _ends(ends: tuple[float, float], form: str) -> str:
    return f"{ends[0]:{form}} to {ends[1]:{form}}"
