"""A package of one's own: a robot, a task, terms, agents and tests, from the templates in ``genelab/scaffold``."""

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path

from genelab.core.errors import UserError
from genelab.core.registry import tasks

SUFFIX = ".tmpl"


def new_project(name: str, into: Path = Path(), package: str | None = None, task_id: str | None = None) -> Path:
    """Write the project `name`, with package and task named after it by default, below a directory; returns where."""
    package, target = package or name.replace("-", "_"), into / name
    if not re.fullmatch(r"[\w.-]*\w", name):
        raise UserError(f"'{name}' is no name for a directory: use letters, digits, '_' and '-', such as 'my_arm'")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", package) or keyword.iskeyword(package):
        raise UserError(f"'{package}' is no name for a package: use small letters, digits and '_', such as 'my_arm'")
    known = importlib.util.find_spec(package)
    if package == "tests" or (known is not None and known.origin is not None):
        raise UserError(f"there is a package '{package}' already: choose another name")
    task = task_id or f"{''.join(word.capitalize() for word in package.split('_'))}-Reach-v0"
    if not re.fullmatch(r"[\w.-]+", task) or task in tasks():
        raise UserError(f"'{task}' is {'a task already' if task in tasks() else 'no name for a task'}: choose another")
    home = Path(str(files("genelab")))
    checkout = home.parents[1] if (home.parents[1] / "constraints.txt").is_file() else None
    words = {"@package@": package, "@project@": name, "@task@": task, "@genelab@": str(checkout or "genelab")}
    try:
        target.mkdir(parents=True)
        for template in sorted((home / "scaffold").rglob(f"*{SUFFIX}")):
            text = template.read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace(word, value)
            place = template.relative_to(home / "scaffold").as_posix().removesuffix(SUFFIX)
            path = target / re.sub("^package/", f"{package}/", place)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise UserError(f"'{error.filename}' exists already, and is left as it is: choose another name") from error
    except OSError as error:
        raise UserError(f"cannot write '{target}': {error.strerror}") from error
    return target
