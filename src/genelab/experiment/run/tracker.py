"""Loggers beside TensorBoard, for runs that ask for one."""

from pathlib import Path
from typing import Any

from genelab.core.errors import UserError, reason
from genelab.core.registry import Component

_HERE = "genelab.experiment.run.tracker"
_WANDB = {"target": f"{_HERE}:Wandb", "requires": "wandb", "install": "pip install genelab[wandb]"}
LOGGERS = {"wandb": Component(name="wandb", summary="Weights & Biases", **_WANDB)}


class Wandb:
    """A run at Weights & Biases; with WANDB_MODE=offline, in the run's directory. A resumed run goes on there too."""

    def __init__(self, directory: Path, meta: dict[str, Any]):
        import wandb

        identity = "".join(c for c in f"{meta['started_at']}{meta['config_hash']}" if c.isalnum())
        where = {"project": meta["task"], "name": directory.name, "dir": str(directory.resolve())}
        try:
            settings = wandb.Settings(console="off", silent=True)
            self._run: Any = wandb.init(**where, id=identity, resume="allow", config=meta, settings=settings)
        except wandb.Error as error:
            remedy = "log in with 'wandb login', or set WANDB_MODE=offline"
            raise UserError(f"Weights & Biases cannot be used ({reason(error)}): {remedy}") from error

    def write(self, iteration: int, metrics: dict[str, float]) -> None:
        """Record one iteration."""
        self._run.log(metrics, step=iteration)

    def close(self) -> None:
        """Send the rest."""
        self._run.finish()
