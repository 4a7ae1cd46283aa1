"""What a campaign still has to do: the next command of every run, and what is refused before anything starts."""

from pathlib import Path

from genelab.core.errors import UserError, about
from genelab.core.json_data import finite, read_json
from genelab.core.overrides import show
from genelab.core.run_files import EVAL_FILE, METRICS_FILE, RUN_FILE
from genelab.experiment.campaign.file import Campaign, Row
from genelab.experiment.campaign.state import is_final
from genelab.experiment.run.directory import Run
from genelab.experiment.run.reading import read_summary
from genelab.experiment.run.seed_lines import last_line
from genelab.experiment.seeds import changes, training_command
from genelab.experiment.setup import Setup
from genelab.experiment.train import TrainRequest, resolve_training
from genelab.rl.backends import learner_class


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
        training = training_command(request, setup, directory, row.runs[directory], threads)
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


def _evaluated(directory: Path) -> bool:
    return (directory / EVAL_FILE).exists() and is_final(read_json(directory / EVAL_FILE))


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
