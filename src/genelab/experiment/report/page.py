"""The page: header, sections in reading order, style and script, all in one file."""

import base64
import shlex
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from genelab import __version__
from genelab.core.run_files import VIDEO_FILE
from genelab.experiment.provenance import now
from genelab.experiment.report.charts import learning_curves, small_multiples
from genelab.experiment.report.data import Entry, unique
from genelab.experiment.report.evaluation import evaluation
from genelab.experiment.report.markup import Html, Section, named, note, tag
from genelab.experiment.report.origins import configs, differing_paths, progress, provenance
from genelab.experiment.report.results import badge, key_figures, run_metrics, seed_list, seeds, status_of

VIDEO_LIMIT = 20_000_000
"""Bytes; a larger video stays outside of the page."""

# Nothing may be loaded from anywhere, whatever a run's files hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data:; img-src data:"


def render(entries: Sequence[Entry]) -> str:
    """The whole HTML file."""
    parts = [
        learning_curves(entries) or Section("curves", "Learning curves", tag("p", "Nothing has been recorded yet.")),
        evaluation(entries),
        seeds(entries),
        run_metrics(entries),
        videos(entries),
        *small_multiples(entries),
        how_to_record(entries),
        configs(entries),
        provenance(entries),
        _notes(entries),
    ]
    sections = [part for part in parts if part is not None]
    title = _title(entries)
    return document(f"{title} · genelab report", _header(entries, title, sections), sections)


def document(title: str, header: Html, sections: Sequence[Section]) -> str:
    """A self-contained HTML file around a header and sections."""
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            tag("style", _asset("style.css")),
        ),
        tag(
            "body",
            header,
            tag("main", *sections),
            tag("footer", f"genelab {__version__} · written {now().replace('T', ' ').replace('+00:00', ' UTC')}"),
            tag("script", _asset("script.js")),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{page}\n"


def _title(entries: Sequence[Entry]) -> str:
    tasks = unique(entry.task for entry in entries)
    return tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks compared"


def _header(entries: Sequence[Entry], title: str, sections: Sequence[Section]) -> Html:
    if len(entries) == 1:
        entry = entries[0]
        meta = entry.runs[0].meta
        words = [f"{'seed' if len(entry.runs) == 1 else f'{len(entry.runs)} seeds:'} {seed_list(entry)}"]
        words += [f"{key} {meta[key]}" for key in ("preset", "backend", "engine") if meta.get(key)]
        words += [f"started {str(meta['started_at'])[:10]}"] if meta.get("started_at") else []
        if any(status_of(run) != "finished" for run in entry.runs):
            words.insert(0, f"iteration {', '.join(unique(progress(run) for run in entry.runs))}")
        states = [badge(status) for status in unique(map(status_of, entry.runs))]
        lead = tag("p", *states, tag("b", entry.label), *(tag("span", word) for word in words), class_="lead")
    else:
        lead = tag("p", tag("span", f"Comparison of {len(entries)} entries"), class_="lead")
    warning = _warning(entries)
    return tag("header", tag("h1", title), lead, key_figures(entries), warning, contents(sections))


def contents(sections: Sequence[Section]) -> Html:
    """Links to the sections."""
    links = [tag("a", part.title_text, href=f"#{part.anchor}") for part in sections]
    return tag("nav", *links, aria_label="Contents")


def _warning(entries: Sequence[Entry]) -> Html | None:
    if len(unique(entry.task for entry in entries)) > 1:
        return note("The entries train different tasks: their returns do not compare.")
    if any(path.startswith("env.rewards.") for path in differing_paths([entry.runs for entry in entries])):
        return note("The entries differ in their rewards: their returns do not compare.")
    return None


def videos(entries: Sequence[Entry]) -> Section | None:
    """The videos of the entries that have one; None if none has."""
    parts = [_video(index, entry, len(entries) > 1) for index, entry in enumerate(entries)]
    shown = [part for part in parts if part is not None]
    return Section("video", "Video", tag("div", *shown, class_="videos")) if shown else None


def how_to_record(entries: Sequence[Entry]) -> Section | None:
    """The command that makes a video, if no entry has one."""
    if any(_video_file(entry) for entry in entries):
        return None
    run = entries[0].runs[0].directory
    checkpoint = next((run / name for name in ("model_final.pt", "model.zip") if (run / name).exists()), "CHECKPOINT")
    words = ["genelab", "play", entries[0].task, "--checkpoint", checkpoint, "--max-steps", 500]
    command = shlex.join(str(word) for word in [*words, "--video", run / VIDEO_FILE])
    text = "There is none. Record one and write the report again:"
    return Section("video", "Video", tag("p", text), tag("code", command))


def _video_file(entry: Entry) -> Path | None:
    places = [entry.directory, *(run.directory for run in entry.runs)]
    return next((place / VIDEO_FILE for place in places if (place / VIDEO_FILE).is_file()), None)


def _video(index: int, entry: Entry, several: bool) -> Html | None:
    path = _video_file(entry)
    if path is None:
        return None
    size = path.stat().st_size
    if size >= VIDEO_LIMIT:
        return note(f"{path} is not embedded: it has {size / 1e6:.0f} MB, more than {VIDEO_LIMIT / 1e6:.0f} MB.")
    of_seed = [run.name for run in entry.runs if run.directory == path.parent] if len(entry.runs) > 1 else []
    data = base64.b64encode(path.read_bytes()).decode()
    player = tag("video", controls=True, loop=True, muted=True, playsinline=True, src=f"data:video/mp4;base64,{data}")
    return tag("figure", tag("figcaption", named(index, ", ".join([entry.label, *of_seed]), several)), player)


def _notes(entries: Sequence[Entry]) -> Section | None:
    lines = [line for entry in entries for line in entry.notes]
    return Section("notes", "Notes", tag("ul", *(tag("li", line) for line in lines))) if lines else None


def _asset(name: str) -> Html:
    return Html((files(__package__ or "") / name).read_text(encoding="utf-8"))
