"""Working through a campaign: everything that is not done, one process per run."""

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from genelab.core.files import require_plain_name
from genelab.experiment.campaign.file import Campaign, read_campaign
from genelab.experiment.campaign.plan import Plan
from genelab.experiment.campaign.state import look_at, tasks_at_target
from genelab.experiment.campaign.tables import in_words, status_text
from genelab.experiment.console import live_text, on_terminal
from genelab.experiment.launch import Launcher, LocalProcesses, log_file, threads_each, work_through
from genelab.experiment.run.lock import holder, locked

DOES = {"train": "training", "eval": "evaluation", "summary": "summary of its row"}


class RunLines:
    """A line for each run that begins something or fails."""

    def __init__(self, directory: Path, say: Callable[[str], None]):
        self._directory, self._say = directory, say
        self.failed = False

    def begin(self, directory: Path, command: list[str]) -> None:
        does = "training goes on" if "--resume" in command else DOES[command[0]]
        self._say(f"{directory.relative_to(self._directory)}: {does}")

    def follow(self, running: Iterable[Path]) -> None:
        """The table is drawn by the clock."""

    def end(self, directory: Path, code: int | None) -> None:
        if code not in (0, None):
            self.failed = True
            self._say(f"{directory.relative_to(self._directory)}: failed, see {log_file(directory)}")


def run_campaign(
    file: Path,
    parallel: int = 1,
    only_failing: bool = False,
    say: Callable[[str], None] = print,
    launcher: Launcher | None = None,
) -> int:
    """Work through a campaign file, at most `parallel` runs at once. Returns the exit code.

    Runs that are done are left alone, those that were begun are continued. Without a launcher, in local processes.
    """
    campaign = read_campaign(file)
    require_plain_name(campaign.directory)
    plan = Plan(campaign)  # every mistake is found here, before anything starts
    with locked(campaign.directory):
        chosen = _choose(campaign, plan, only_failing, say)
        threads = threads_each(parallel, len(chosen))
        say(f"runs: {campaign.directory}, {len(chosen)} to work on, {len(plan.frames) - len(chosen)} left alone")
        if threads is not None:
            say(f"threads per run: {threads}")
        lines, place = RunLines(campaign.directory, say), launcher or LocalProcesses(threads)
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


def _choose(campaign: Campaign, plan: Plan, only_failing: bool, say: Callable[[str], None]) -> list[Path]:
    """The runs with something left to do; of rows that fail, if only those are asked for.

    A row fails if one of its runs has failed, or if its task has a target that no row of the task has reached.
    """
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
