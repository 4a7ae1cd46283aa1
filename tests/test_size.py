"""The project stays small enough to be read."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src/genelab"
NOT_CORE = ("tasks/", "scene/robots/", "experiment/pages/", "experiment/report/", "experiment/sim2sim/page.py")
"""Data in the form of code, and the HTML pages."""


def test_the_core_has_fewer_than_ten_thousand_lines_of_code() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if not str(path.relative_to(PACKAGE)).startswith(NOT_CORE)]
    assert sum(map(lines_of_code, files)) < 10_000


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and n not in docs for n, line in lines)
