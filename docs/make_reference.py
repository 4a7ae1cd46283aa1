"""The pages of docs/reference: the public names of genelab and the terms of genelab.mdp, read from their source.

Signatures, types and defaults are shown as they are written there. Nothing is imported.
"""

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from genelab import _PUBLIC
from genelab.core.table import Table

SOURCE = Path(__file__).parent.parent / "src"
NOTE = "<!-- Generated from docstrings by `python docs/make_pages.py`. Do not edit. -->"
TITLES = {
    "genelab.core.errors": "Errors",
    "genelab.core.registry": "Tasks",
    "genelab.envs": "Environments and terms",
    "genelab.engines.pictures": "What pictures show",
    "genelab.experiment.report": "Runs",
    "genelab.rl.cfg": "Configs of agents",
    "genelab.sensors": "Sensors",
    "genelab.sensors.rays": "Directions of rays",
    "genelab.scene.scene": "The scene",
}
Definition = ast.ClassDef | ast.FunctionDef | ast.Assign


def reference_pages() -> dict[str, str]:
    """Every page of docs/reference by its path."""
    return {"docs/reference/genelab.md": public_names(), "docs/reference/mdp.md": terms()}


def public_names() -> str:
    """What `import genelab as gl` offers, by the package it lives in."""
    lines = ["# genelab", "", NOTE, "", "`import genelab as gl` has these names. Terms are in [mdp](mdp.md).", ""]
    lines += ["In signatures, `Env` is `ManagerBasedRlEnv`.", ""]
    for module, names in _PUBLIC.items():
        lines += [f"## {TITLES[module]}", ""]
        for name in names.split():
            lines += entry(*find(module, name))
    return "\n".join(lines).rstrip() + "\n"


def terms() -> str:
    """The term library, module by module."""
    lines = ["# genelab.mdp", "", NOTE, ""]
    lines += ["`from genelab import mdp` has these terms, and the configs of actions and commands.", ""]
    lines += ["In signatures, `Env` is `ManagerBasedRlEnv` and `OwnerRef` is `EntityRef | None`.", ""]
    for package in (node.module for node in _imports("genelab.mdp") if node.names[0].name == "*" and node.module):
        about, _, more = (ast.get_docstring(_tree(package)) or "").partition("\n\n")
        lines += [f"## {package.rpartition('.')[2]}", "", about, "", *([more, ""] if more else [])]
        for node in _tree(package).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not _hidden(node):
                lines += entry(package, node)
    return "\n".join(lines).rstrip() + "\n"


def _hidden(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """What is private, and what carries out a config that is described itself."""
    return node.name.startswith("_") or (ast.get_docstring(node) or "").startswith("See `")


def entry(module: str, node: Definition) -> list[str]:
    """One class, function or type: signature, docstring, and a class's fields and methods."""
    if isinstance(node, ast.Assign):
        return [f"### {ast.unparse(node.targets[0])}", "", _doc_below(_tree(module).body, node), ""]
    lines = [f"### {node.name}", "", "```python", signature(node), "```", "", ast.get_docstring(node) or "", ""]
    if isinstance(node, ast.ClassDef):
        tables = (Table(("field", "type", "default", "meaning"), list(fields(module, node))), methods(module, node))
        for table in tables:
            lines += [table.markdown(), ""] if table.rows else []
    return lines


def signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """The line that defines something, with the arguments that make an object of a class that is no config."""
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {node.name}({ast.unparse(node.args)}){returns}"
    bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return "\n".join([f"class {node.name}{bases}", *(f"    {signature(n).removeprefix('def ')}" for n in made)])


def fields(module: str, node: ast.ClassDef) -> Iterator[tuple[str, str, str, str]]:
    """Fields of a config, those of its bases first: name, type, default, meaning."""
    found: dict[str, tuple[str, str, str, str]] = {}
    for cls in _lineage(module, node):
        for field in cls.body:
            if isinstance(field, ast.AnnAssign) and not (name := ast.unparse(field.target)).startswith("_"):
                meaning = _doc_below(cls.body, field) or found.get(name, ("",) * 4)[3]
                found[name] = (f"`{name}`", f"`{_type(field.annotation)}`", _default(field.value), meaning)
    yield from found.values()


def methods(module: str, node: ast.ClassDef) -> Table:
    """Methods and properties of a class and its bases that have a docstring."""
    rows: dict[str, tuple[str, str]] = {}
    for cls in _lineage(module, node):
        for method in (n for n in cls.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")):
            text = (ast.get_docstring(method) or "").partition("\n\n")[0]
            about = " ".join(text.split()) or rows.get(method.name, ("", ""))[1]
            rows[method.name] = (f"`{_call(method)}`", about)
    return Table(("method", "what it does"), [row for row in rows.values() if row[1]])


def find(module: str, name: str) -> tuple[str, Definition]:
    """Where a name is defined, following imports, and its definition."""
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return module, node
    for node in _imports(module):
        if any((alias.asname or alias.name) == name for alias in node.names):
            return find(str(node.module), name)
        if node.names[0].name == "*":
            with suppress(LookupError):
                return find(str(node.module), name)
    raise LookupError(f"{module} has no {name}")


def _lineage(module: str, node: ast.ClassDef) -> list[ast.ClassDef]:
    """A class and its bases that are defined in genelab, the furthest first."""
    found: list[ast.ClassDef] = []
    for base in map(ast.unparse, node.bases):
        try:
            home, definition = find(module, base)
        except (LookupError, OSError):  # of another library
            continue
        if isinstance(definition, ast.ClassDef):
            found += _lineage(home, definition)
    return [*found, node]


def _call(method: ast.FunctionDef) -> str:
    if any(ast.unparse(decorator).endswith("property") for decorator in method.decorator_list):
        return method.name
    return f"{method.name}({ast.unparse(method.args).removeprefix('self').removeprefix(', ')})"


def _type(annotation: ast.expr) -> str:
    """A type without the bounds that are annotated to it."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        assert isinstance(annotation.slice, ast.Tuple)
        return ast.unparse(annotation.slice.elts[0])
    return ast.unparse(annotation).replace("ranges.", "")


def _default(value: ast.expr | None) -> str:
    """A default as code. Of a field with a factory, what the factory makes."""
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        factory = next((word.value for word in value.keywords if word.arg == "default_factory"), None)
        if factory is None:
            return ""
        text = ast.unparse(factory.body) if isinstance(factory, ast.Lambda) else f"{ast.unparse(factory)}()"
        return f"`{ {'dict()': '{}', 'list()': '[]'}.get(text, text) }`"
    return f"`{ast.unparse(value)}`"


def _doc_below(body: Sequence[ast.stmt], node: ast.stmt) -> str:
    """The text right under a field or a type, on one line."""
    after = body[body.index(node) + 1 : body.index(node) + 2]
    text = after[0].value if after and isinstance(after[0], ast.Expr) else None
    return " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""


def _imports(module: str) -> list[ast.ImportFrom]:
    return [node for node in _tree(module).body if isinstance(node, ast.ImportFrom) and node.module]


@cache
def _tree(module: str) -> ast.Module:
    path = SOURCE / module.replace(".", "/")
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8"))
