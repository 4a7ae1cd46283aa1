"""Working through a campaign: what is left to do, what is refused before anything starts, one process per run."""

import shutil
import time
from pathlib import Path
from typing import Any

from genelab.core.errors import UserError, about
from genelab.core.files import read_json
from genelab.core.overrides import show
from genelab.core.ranges import finite
from genelab.core.run_files import EVAL_FILE, METRICS_FILE, RUN_FILE
from genelab.experiment.campaign.file import Campaign, Row, read_campaign
from genelab.experiment.campaign.state import in_words, is_final, look_at, status_text, tasks_at_target
from genelab.experiment.console import live_text, on_terminal
from genelab.experiment.launch import Launcher, LocalProcesses, Watch, log_file, threads_each, work_through
from genelab.experiment.run.directory import Run
from genelab.experiment.run.lock import holder, locked
from genelab.experiment.run.reading import read_summary
from genelab.experiment.seeds import changes, last_line, needs, training_command
from genelab.experiment.setup import Say, Setup
from genelab.experiment.train import TrainRequest, resolve_training
from genelab.rl.backends import learner_class

DOES = {"train": "training", "eval": "evaluation", "summary": "summary of its row"}


class RunLines(Watch):
    """A line for each run that begins something or fails. The table is drawn by the clock."""

    def __init__(self, directory: Path, say: Say):
        self._directory, self._say = directory, say
        self.failed = False

    def begin(self, directory: Path, command: list[str]) -> None:
        does = "training goes on" if "--resume" in command else DOES[command[0]]
        self._say(f"{directory.relative_to(self._directory)}: {does}")

    def end(self, directory: Path, code: int | None) -> None:
        if code not in (0, None):
            self.failed = True
            self._say(f"{directory.relative_to(self._directory)}: failed, see {log_file(directory)}")


class Plan:
    """A campaign with its configs resolved, checked against its budget and against what is on disk."""

    def __init__(self, campaign: Campaign):
        self.frames: dict[Path, int] = {}
        """Frames that each run has when it is done."""
        self._runs: dict[Path, tuple[Row, TrainRequest, Setup]] = {}
        with about(campaign.file):
            for row in campaign.rows:
                self._add(row, campaign.frames_per_run)
            for directory, (row, request, setup) in self._runs.items():
                if (directory / RUN_FILE).exists():
                    _check_unchanged(directory, row, request, setup)
            self._check_total(campaign)

    def next_command(self, directory: Path, threads: int | None = None) -> list[str] | None:
        """Train, or continue; then evaluate; after the last seed of a row, summarise; None when all is done."""
        row, request, setup = self._runs[directory]
        training = training_command(request, setup, threads, directory)
        if training is not None:
            return training
        if not _evaluated(directory):
            simulation = setup.env_cfg.simulation
            where = ["--sim", simulation.engine, *(["--gpu"] if simulation.gpu else [])]
            checkpoint = directory / learner_class(setup.agent_cfg).final_name
            return ["eval", row.task, str(checkpoint), *where, "--out", str(directory / EVAL_FILE)]
        summarised = read_summary(row.directory, []).get("seeds", ())
        if all(map(_evaluated, row.runs)) and not set(row.seeds) <= set(summarised):
            return ["summary", str(row.directory)]
        return None

    def needs(self, directory: Path) -> tuple[int, int]:
        return needs(self._runs[directory][2])

    def _add(self, row: Row, allowed: int) -> None:
        request = TrainRequest(row.task, list(row.overrides), row.preset, row.backend)
        with about(row.label):
            setup = resolve_training(request)
            learner_class(setup.agent_cfg)  # an error if its library is missing
            for change in setup.changes:
                if change.old == change.new:
                    raise UserError(f"{change.path} is {show(change.new)} already: the override changes nothing")
            frames = setup.agent_cfg.total_steps(setup.env_cfg.num_envs)
            if frames > allowed:
                raise UserError(f"it would train {frames:,} frames, more than frames_per_run {allowed:,}")
        for directory in row.runs:
            self._runs[directory], self.frames[directory] = (row, request, setup), frames

    def _check_total(self, campaign: Campaign) -> None:
        """All runs of the file, and those that were in it before, must fit into the budget together."""
        others = {path.parent for path in campaign.directory.glob(f"*/*/seed_*/{RUN_FILE}")} - set(self.frames)
        logged = [finite((last_line(run / METRICS_FILE) or {}).get("steps")) or 0 for run in others]
        total, allowed = sum(self.frames.values()) + int(sum(logged)), campaign.total_frames
        if allowed is not None and total > allowed:
            before = f", {int(sum(logged)):,} of them in runs that the file has no more" if others else ""
            raise UserError(f"all runs would train {total:,} frames{before}, more than total_frames {allowed:,}")


def run_campaign(
    file: Path,
    parallel: int = 1,
    only_failing: bool = False,
    say: Say = print,
    launcher: Launcher | None = None,
    cluster: Any = None,
) -> int:
    """Do what a campaign file leaves to do, `parallel` runs at once, by default in local processes; the exit code."""
    campaign = read_campaign(file)
    plan = Plan(campaign)  # every mistake is found here, before anything starts
    with locked(campaign.directory):
        chosen = _choose(campaign, plan, only_failing, say)
        threads = threads_each(parallel, len(chosen)) if cluster is None else 1
        say(f"runs: {campaign.directory}, {len(chosen)} to work on, {len(plan.frames) - len(chosen)} left alone")
        if threads is not None:
            say(f"threads per run: {threads}")
        lines, place = RunLines(campaign.directory, say), launcher or LocalProcesses(threads)
        place = place if cluster is None else cluster(plan.needs)
        with live_text(lambda: terminal_text(campaign)):
            completed = work_through(chosen, lambda run: plan.next_command(run, threads), place, parallel, lines)
        if not on_terminal():
            say(in_words(look_at(campaign)))
    if not completed:
        say("stopped; go on with the same command")
        return 130
    return 1 if lines.failed else 0


def follow_campaign(campaign: Campaign) -> None:
    """Show on a terminal how all runs stand, for as long as a process works through the campaign."""
    with live_text(lambda: terminal_text(campaign)):
        while holder(campaign.directory) is not None:
            time.sleep(0.5)


def terminal_text(campaign: Campaign) -> str:
    """How all runs stand, in as many lines as the terminal has at most."""
    return status_text(look_at(campaign), shutil.get_terminal_size().lines)


def _choose(campaign: Campaign, plan: Plan, only_failing: bool, say: Say) -> list[Path]:
    """Runs with something left; if `only_failing`, of rows with a failed run, or of tasks with no row at its target."""
    at_target = tasks_at_target(campaign) if only_failing else set()
    chosen: list[Path] = []
    for state in look_at(campaign):
        row, failed = state.row, any(run.state == "failed" for run in state.runs)
        if only_failing and not failed and (row.target is None or row.task in at_target):
            continue
        left = [run for run in row.runs if plan.next_command(run) is not None]
        chosen += left
        if state.reached is False and not left:
            say(f"{row.label}: below its target; the same settings would give the same weights, so it needs others")
    return chosen


def _evaluated(directory: Path) -> bool:
    return (directory / EVAL_FILE).exists() and is_final(read_json(directory / EVAL_FILE) or {})


def _check_unchanged(directory: Path, row: Row, request: TrainRequest, setup: Setup) -> None:
    """An error if a run was begun with other settings: it would have to be trained again."""
    run = Run.open(directory)
    found = changes(run, request, setup)
    if run.configs()[1].max_iterations != setup.agent_cfg.max_iterations:
        found.append("agent.max_iterations")
    if found:
        raise UserError(
            f"'{row.label}/{directory.name}' was begun with another {', '.join(found)}: "
            "put it back, or give the entry another name to train it beside the old one"
        )
