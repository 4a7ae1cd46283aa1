"""A package of one's own: a robot, a task, terms, agents and tests, from the templates in ``genelab/scaffold``."""

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path

from genelab.core.errors import UserError

SUFFIX = ".tmpl"


def new_project(name: str, into: Path = Path()) -> Path:
    """Write the package `name` below a directory; returns where it is. Nothing that exists is touched."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(f"'{name}' is no name for a package: use small letters, digits and '_', such as 'my_arm'")
    known = importlib.util.find_spec(name)
    if name == "tests" or (known is not None and known.origin is not None):
        raise UserError(f"there is a package '{name}' already: choose another name")
    templates = Path(str(files("genelab"))) / "scaffold"
    title = "".join(word.capitalize() for word in name.split("_"))
    target = into / name
    try:
        target.mkdir(parents=True)
        for template in sorted(templates.rglob(f"*{SUFFIX}")):
            text = template.read_text(encoding="utf-8").replace("@package@", name).replace("@Name@", title)
            place = template.relative_to(templates).as_posix().removesuffix(SUFFIX)
            path = target / re.sub("^package/", f"{name}/", place)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise UserError(f"'{error.filename}' exists already, and is left as it is: choose another name") from error
    except OSError as error:
        raise UserError(f"cannot write '{target}': {error.strerror}") from error
    return target
