"""The parts of the page that are plots."""

from collections.abc import Sequence

from genelab.experiment.report.curves import Curve, Reader, curves, of_metric
from genelab.experiment.report.data import Entry, unique
from genelab.experiment.report.markup import Html, Section, colour, named, tag
from genelab.experiment.report.numbers import number, percent
from genelab.experiment.report.svg import Layout, plot

HERO = Layout(width=660, height=400, left=52, bottom=28, x_ticks=6, y_ticks=6, x_label=True)
WIDE = Layout(width=660, height=230, left=52, bottom=28, x_ticks=6, y_ticks=4, x_label=True, markers=True)
SIDE = Layout(width=330, height=178, left=50, bottom=22, x_ticks=4, y_ticks=3)
SMALL = Layout(width=270, height=140, left=46, bottom=22, x_ticks=3, y_ticks=3)

MAIN = {"return_mean": "Return", "length_mean": "Episode length", "success_rate": "Success rate"}
NOT_PLOTTED = {"iteration", "steps", *MAIN}
GROUPS = {
    "reward": ("Reward terms", "Weighted return of each term per episode."),
    "metric": ("Task metrics", None),
    "termination": ("Terminations", "Share of finished episodes that each term ended."),
    "loss": ("Optimisation", "Losses, learning rate and exploration. Wide ranges are logarithmic."),
    "run": ("Speed and health", None),
}
"""Title and explanation of metrics by the word before the slash. Other words become groups of their own."""
HOME = {"learning_rate": "loss", "action_std": "loss"}
"""Groups of metrics without a slash; all others belong to the run itself."""


def learning_curves(entries: Sequence[Entry]) -> Section | None:
    """Return, episode length and success rate, against steps or time."""
    by_axis = {axis: _main_plots(entries, axis) for axis in ("steps", "time")}
    shown = {axis: plots for axis, plots in by_axis.items() if plots is not None}
    if not shown:
        return None
    titles = {"steps": "Environment steps", "time": "Training time"}
    return Section(
        "curves",
        "Learning curves",
        *(
            tag("input", type="radio", name="axis", id=f"by-{axis}", checked=number == 0, class_="hidden")
            for number, axis in enumerate(shown)
        ),
        tag(
            "div",
            legend(entries, seeds=True),
            tag("div", *(tag("label", titles[axis], for_=f"by-{axis}") for axis in shown), class_="switch"),
            class_="bar",
        ),
        *(tag("div", plots, class_=f"by-{axis}") for axis, plots in shown.items()),
    )


def _main_plots(entries: Sequence[Entry], axis: str) -> Html | None:
    drawn = {
        key: figure(entries, title, of_metric(key, axis), HERO if key == "return_mean" else SIDE, axis=axis, key=key)
        for key, title in MAIN.items()
    }
    hero, *side = drawn.values()
    side = [one for one in side if one is not None]
    if hero is None and not side:
        return None
    return tag("div", hero, tag("div", *side, class_="side") if side else None, class_="hero" if side else None)


def small_multiples(entries: Sequence[Entry]) -> list[Section]:
    """Every other metric, grouped by the word before the slash."""
    grouped: dict[str, list[str]] = {word: [] for word in GROUPS}
    for key in unique(key for entry in entries for run in entry.runs for row in run.rows for key in row):
        if key not in NOT_PLOTTED:
            word = key.partition("/")[0] if "/" in key else HOME.get(key, "run")
            grouped.setdefault(word, []).append(key)
    sections = []
    for word, keys in grouped.items():
        title, explanation = GROUPS.get(word, (word.replace("_", " ").capitalize(), None))
        plots = [
            figure(entries, key.removeprefix(f"{word}/"), of_metric(key, "steps"), SMALL, key=key, draw_seeds=False)
            for key in keys
        ]
        plots = [one for one in plots if one is not None]
        if plots:
            names = legend(entries, lines=False) if len(entries) > 1 else None
            head = tag("div", tag("p", explanation) if explanation else None, names, class_="bar")
            sections.append(Section(f"metrics-{word}", title, head, tag("div", *plots, class_="grid-small")))
    return sections


def figure(
    entries: Sequence[Entry],
    title: str,
    read: Reader,
    layout: Layout,
    *,
    axis: str = "steps",
    key: str = "",
    draw_seeds: bool = True,
) -> Html | None:
    """A plot with its name and the newest values; None if no entry has the data."""
    found = curves(entries, read)
    if not found:
        return None
    fraction = key == "success_rate" or key.startswith("termination/")
    drawn = plot(
        found,
        title,
        layout,
        axis=axis,
        may_be_log=key.startswith("loss/") or key in HOME,
        fraction=fraction,
        name_seeds=len(entries) == 1,
        draw_seeds=draw_seeds,
    )
    newest = _newest(found, fraction, at_most=2 if layout is SMALL else 3)
    return tag("figure", tag("figcaption", tag("b", title), newest), drawn)


def _newest(found: Sequence[Curve], fraction: bool, at_most: int) -> Html | None:
    if len(found) > at_most:
        return None
    show = percent if fraction else number
    values = [(curve, float(curve.mean[1][-1])) for curve in found if len(curve.mean[1])]
    return tag(
        "span",
        *(tag("span", show(value), class_=f"value {colour(curve.index)}") for curve, value in values),
        class_="values",
    )


def legend(entries: Sequence[Entry], *, lines: bool = True, seeds: bool = False) -> Html:
    """The colours of the entries and, if `lines`, what lines and bands mean."""
    several = len(entries) > 1
    names = [tag("span", named(index, entry.label, several)) for index, entry in enumerate(entries)] if several else []
    counts = unique(len(entry.runs) for entry in entries)
    if lines and counts != [1]:
        over = f"{counts[0]} seeds" if len(counts) == 1 else "seeds"
        meanings = {"line": f"mean over {over}", "band": "lowest to highest seed"}
        for kind, meaning in (meanings | ({"seed": "each seed"} if seeds else {})).items():
            mark = tag("span", class_=f"key-{kind}" if several else f"key-{kind} c0", aria_hidden="true")
            names.append(tag("span", mark, meaning, class_="muted"))
    return tag("div", *names, class_="legend")
