"""A report: one HTML file about one run, its seeds, several to compare, or a campaign. It opens without network."""

import base64
import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError
from genelab.core.files import write_text, writing
from genelab.core.run_files import FINAL_MODELS, REPORT_FILE, VIDEO_FILE
from genelab.experiment.pages import Cell, Section, render
from genelab.experiment.report.curves import learning_curves, small_multiples
from genelab.experiment.report.origins import configs, differing_paths, progress, provenance
from genelab.experiment.report.results import badges, evaluation, key_figures, run_metrics, seed_list, seeds
from genelab.experiment.run.reading import Entry, load_entries, unique
from genelab.rl.backends import unit_of

VIDEO_LIMIT = 20_000_000
"""Bytes; a larger video stays outside of the page."""


def write_report(places: Sequence[Path], out: Path | None = None) -> Path:
    """Write the report on run directories or a campaign file, by default into the first one or the campaign's own."""
    if len(places) == 1 and places[0].suffix == ".toml":
        from genelab.experiment.campaign.file import read_campaign  # tasks and presets take torch, which runs do not
        from genelab.experiment.report.campaign import campaign_page

        campaign = read_campaign(places[0])
        path, page = campaign.directory / REPORT_FILE, campaign_page(campaign)
    else:
        path, page = places[0] / REPORT_FILE, report_page(load_entries(places))
    path = out or path
    if path.is_dir():
        raise UserError(f"'{path}' is a directory: give --out the name of a file")
    with writing(path):
        write_text(path, page)
    return path


class RunReport:
    """A run, or several seeds of one, as it is on disk. A notebook shows it as its report."""

    def __init__(self, directory: str | Path):
        self.entry = load_entries([Path(directory)])[0]

    def _repr_html_(self) -> str:
        page = escape(report_page([self.entry]))
        return f'<iframe srcdoc="{page}" width="100%" height="800" frameborder="0"></iframe>'


def report_page(entries: Sequence[Entry]) -> str:
    tasks = unique(entry.task for entry in entries)
    title = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks compared"
    video = videos(entries)
    notes = [line for entry in entries for line in entry.notes]
    sections = [
        learning_curves(entries),
        evaluation(entries),
        seeds(entries),
        run_metrics(entries),
        video if video.data["shown"] else None,
        *small_multiples(entries),
        video if not video.data["shown"] else None,
        configs(entries),
        provenance(entries),
        Section("notes", "Notes", notes) if notes else None,
    ]
    return render("report", f"{title} · genelab report", _header(entries, title), sections)


def _header(entries: Sequence[Entry], title: str) -> dict[str, Any]:
    header = {"title": title, "figures": key_figures(entries), "warning": _warning(entries)}
    if len(entries) > 1:
        return header | {"states": [], "label": "", "words": [f"Comparison of {len(entries)} entries"]}
    entry = entries[0]
    meta = entry.runs[0].meta
    words = [f"{'seed' if len(entry.runs) == 1 else f'{len(entry.runs)} seeds:'} {seed_list(entry)}"]
    words += [f"{key} {meta[key]}" for key in ("preset", "backend", "engine") if meta.get(key)]
    words += [f"started {str(meta['started_at'])[:10]}"] if meta.get("started_at") else []
    if any(run.status != "finished" for run in entry.runs):
        words.insert(0, f"{unit_of(meta.get('backend'))} {', '.join(unique(progress(run) for run in entry.runs))}")
    return header | {"states": badges(entry), "label": entry.label, "words": words}


def _warning(entries: Sequence[Entry]) -> str:
    if len(unique(entry.task for entry in entries)) > 1:
        return "The entries train different tasks: their returns do not compare."
    if any(path.startswith("env.rewards.") for path in differing_paths([entry.runs for entry in entries])):
        return "The entries differ in their rewards: their returns do not compare."
    return ""


def videos(entries: Sequence[Entry]) -> Section:
    """The videos of the entries that have one or, if none has, the command that makes one."""
    found = [_video(index, entry, len(entries) > 1) for index, entry in enumerate(entries)]
    run = entries[0].runs[0].directory
    checkpoint = next((run / name for name in FINAL_MODELS if (run / name).exists()), "CHECKPOINT")
    words = ["genelab", "play", entries[0].task, "--checkpoint", checkpoint, "--max-steps", 500]
    command = shlex.join(str(word) for word in [*words, "--video", run / VIDEO_FILE])
    return Section("video", "Video", {"shown": [one for one in found if one is not None], "command": command})


def _video(index: int, entry: Entry, several: bool) -> dict[str, Any] | None:
    places = [entry.directory, *(run.directory for run in entry.runs)]
    path = next((place / VIDEO_FILE for place in places if (place / VIDEO_FILE).is_file()), None)
    if path is None:
        return None
    if (size := path.stat().st_size) >= VIDEO_LIMIT:
        return {"reason": f"{path} is not embedded: it has {size / 1e6:.0f} MB, more than {VIDEO_LIMIT / 1e6:.0f} MB."}
    of_seed = [run.name for run in entry.runs if run.directory == path.parent] if len(entry.runs) > 1 else []
    name = Cell(", ".join([entry.label, *of_seed]), index if several else None)
    return {"reason": "", "name": name, "base64": base64.b64encode(path.read_bytes()).decode()}
