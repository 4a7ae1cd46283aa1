"""The project stays small enough to be read. docs/architecture.md lists the packages with their sizes."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = sorted((Path(__file__).parent.parent / "src").rglob("*.py"))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function with its number of lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield f"{path.name}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_all_of_src_has_fewer_than_25000_lines() -> None:
    assert sum(map(lines, SOURCES)) < 25_000


def test_no_file_has_more_than_400_lines() -> None:
    assert {path.name: lines(path) for path in SOURCES if lines(path) > 400} == {}


def test_no_function_has_more_than_80_lines() -> None:
    assert {name: size for path in SOURCES for name, size in functions(path) if size > 80} == {}
