"""The report on a campaign: what every row reached, the curves of every task, and all runs."""

from collections.abc import Sequence
from dataclasses import replace

from genelab.core.errors import UserError
from genelab.core.table import Table as TextTable
from genelab.experiment.campaign.file import Campaign
from genelab.experiment.campaign.state import RowState, look_at
from genelab.experiment.campaign.tables import EVALUATION, METRIC, row_table, run_table
from genelab.experiment.pages import Cell, Section, Table, named, render
from genelab.experiment.pages.numbers import number
from genelab.experiment.pages.plots import line_plot
from genelab.experiment.report.curves import SIDE, Figure, Legend, curves, of_metric
from genelab.experiment.run.reading import Entry, unique

BADGES = {"✓": "finished", "✗": "failed"}
"""Statuses in whose colours marks are shown."""


def campaign_page(campaign: Campaign) -> str:
    """The whole HTML file."""
    states = look_at(campaign)
    if not any(run.data for state in states for run in state.runs):
        raise UserError(f"nothing of '{campaign.file}' has been run: there is no run below '{campaign.directory}'")
    specs = unique(state.row.spec for state in states)
    judged = [state.reached for state in states if state.row.target is not None]
    runs = [run for state in states for run in state.runs]
    words = [f"{len(campaign.tasks)} tasks", f"{sum(run.state == 'done' for run in runs)} of {len(runs)} runs done"]
    words += [f"{judged.count(True)} of {len(judged)} rows at target"] if judged else []
    header = {
        "title": campaign.file.stem,
        "words": words,
        "rows": _page_table(row_table(states), leave_out=("frames/s", "training")),
        "notes": [f"{METRIC}.", f"{EVALUATION}. Means are over seeds."],
    }
    curves_by_task = {
        "figures": [_figure([s for s in states if s.row.task == task], specs) for task in campaign.tasks],
        "legend": _legend(states, specs),
    }
    reasons = [f"{run.row.label}, seed {run.seed}: {run.reason}" for run in runs if run.state == "failed"]
    sections = [
        Section("curves", "Learning curves by task", curves_by_task),
        Section("runs", "Runs", _page_table(run_table(runs))),
        Section("notes", "Failed", reasons) if reasons else None,
    ]
    return render("campaign", f"{campaign.file.stem} · genelab campaign", header, sections)


def _page_table(table: TextTable, leave_out: Sequence[str] = ()) -> Table:
    """A table of the page, with marks in colour. Columns with nothing in them are left out."""
    shown = [n for n, name in enumerate(table.columns) if name not in leave_out and any(row[n] for row in table.rows)]
    rows = [[Cell(row[n], badge=BADGES.get(row[n], "")) for n in shown] for row in table.rows]
    text = max(place for place, n in enumerate(shown) if table.columns[n] in ("seeds", "state")) + 1
    return Table([table.columns[n] for n in shown], rows, text_columns=text, style="dense")


def _figure(states: Sequence[RowState], specs: Sequence[str]) -> Figure | None:
    """The returns of all rows of a task, with its target."""
    row, found = states[0].row, []
    for state in states:
        entry = Entry(state.row.spec, state.row.directory, [run.data for run in state.runs if run.data], {})
        found += [
            replace(c, index=specs.index(state.row.spec)) for c in curves([entry], of_metric("return_mean", "steps"))
        ]
    if not found:
        return None
    values = [Cell(number(float(curve.mean[1][-1])), curve.index) for curve in found if len(curve.mean[1])]
    return Figure(row.task, line_plot(found, row.task, SIDE, level=row.target), values)


def _legend(states: Sequence[RowState], specs: Sequence[str]) -> Legend:
    names = [named(index, spec, True) for index, spec in enumerate(specs)]
    meanings = {"line": "return of training episodes over frames"}
    if any(len(state.runs) > 1 for state in states):
        meanings |= {"line": "mean over seeds of the return of training episodes, over frames", "seed": "each seed"}
    return Legend(names, meanings | {"target": "target"}, several=True)
