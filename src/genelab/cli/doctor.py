"""genelab doctor"""

from genelab.cli.options import Json
from genelab.core.table import Table
from genelab.experiment.console import say


def doctor(as_json: Json = False) -> None:
    """Show what this machine can do: cores, memory, pictures, GPU, engines and libraries, each with a remedy.

    Example: genelab doctor --json
    """
    import json

    from genelab.experiment.doctor import examine

    columns, found = ("what", "found", "remedy"), list(examine())
    if as_json:
        say(json.dumps([dict(zip(columns, row, strict=True)) for row in found], indent=2))
    else:
        say(Table(columns, [(what, has or "no", "" if has else remedy) for what, has, remedy in found]))
