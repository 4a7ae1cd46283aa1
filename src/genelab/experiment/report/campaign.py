"""The report on a campaign: what every row reached, the curves of every task, and all runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from genelab.core.errors import UserError
from genelab.core.table import Table as TextTable
from genelab.core.table import cell
from genelab.experiment.campaign.file import Campaign
from genelab.experiment.campaign.state import METRICS, RowState, in_words, look_at, row_table, run_table
from genelab.experiment.pages import Cell, Section, Table, render
from genelab.experiment.pages.numbers import number
from genelab.experiment.pages.plots import line_plot
from genelab.experiment.report.curves import SIDE, Figure, curves, of_metric
from genelab.experiment.run.reading import Entry, unique

BADGES = {True: "finished", False: "failed"}
"""Statuses in whose colours it is shown whether a target was reached."""
LEFT = {"task", "spec", "seeds", "seed", "state", "note"}
"""Columns of text."""
ELSEWHERE = {"success", "frames/s", "training s", "overrides"}
"""Columns of the rows for which the page has no room: they are in what ``campaign table`` writes."""


def campaign_page(campaign: Campaign) -> str:
    states = look_at(campaign)
    if not any(run.data for state in states for run in state.runs):
        raise UserError(f"nothing of '{campaign.file}' has been run: there is no run below '{campaign.directory}'")
    specs = unique(state.row.spec for state in states)
    names = [Cell(spec, index) for index, spec in enumerate(specs)]
    lines = {"line": "return of training episodes over frames, mean over seeds", "band": "lowest to highest seed"}
    header = {"title": campaign.file.stem, "words": in_words(states).split(", ")}
    figures = [_figure([state for state in states if state.row.task == task], specs) for task in campaign.tasks]
    legend = {"names": names, "meanings": lines | {"target": "target"}}
    runs = run_table(run for state in states for run in state.runs)
    sections = [
        Section("table", "Rows", {"table": _page_table(row_table(states), ELSEWHERE), "note": METRICS}, "rows"),
        Section("curves", "Learning curves by task", {"figures": figures, "legend": legend}),
        Section("table", "Runs", {"table": _page_table(runs), "note": ""}, "runs"),
    ]
    return render("campaign", f"{campaign.file.stem} · genelab campaign", header, sections)


def _page_table(table: TextTable, leave_out: set[str] | None = None) -> Table:
    """A table of the page. Columns with nothing in them are left out."""
    filled = [n for n in range(len(table.columns)) if any(cell(row[n]) for row in table.rows)]
    shown = [n for n in filled if table.columns[n] not in (leave_out or ())]
    rows = [[_cell(row[n]) for n in shown] for row in table.rows]
    columns = [table.columns[n] for n in shown]
    return Table(columns, rows, text_columns=sum(name in LEFT for name in columns), style="dense")


def _cell(value: Any) -> Cell:
    if isinstance(value, list):
        return Cell(", ".join(str(_cell(item).text) for item in value))
    shown = number(value) if isinstance(value, float) else cell(value)
    return Cell(shown, badge=BADGES[value] if isinstance(value, bool) else "")


def _figure(states: Sequence[RowState], specs: Sequence[str]) -> Figure | None:
    """The returns of all rows of a task, with its target."""
    row, found = states[0].row, []
    for state in states:
        entry = Entry(state.row.spec, state.row.directory, [run.data for run in state.runs if run.data], {})
        drawn = curves([entry], of_metric("return_mean", "steps"))
        found += [replace(curve, index=specs.index(state.row.spec)) for curve in drawn]
    if not found:
        return None
    values = [Cell(number(float(curve.mean[1][-1])), curve.index) for curve in found if len(curve.mean[1])]
    return Figure(row.task, line_plot(found, row.task, SIDE, level=row.target), values)
