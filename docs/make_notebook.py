"""Run the cells of docs/tutorials/notebook.ipynb again and keep what they show: python docs/make_notebook.py

What Jupyter would do, without Jupyter: the cells of a notebook in order, in one namespace and in an empty directory.
"""

import ast
import base64
import contextlib
import copy
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent / "tutorials/notebook.ipynb"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """A copy of a notebook with the outputs that its cells have in an empty directory."""
    notebook, before, namespace = copy.deepcopy(notebook), Path.cwd(), {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for count, cell in enumerate(cells, start=1):
                cell |= {"execution_count": count, "outputs": _run("".join(cell["source"]), namespace, count)}
        finally:
            os.chdir(before)
    return notebook


def _run(source: str, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The outputs of a cell: what it prints, and the value of its last line if that is an expression."""
    body, printed, value = ast.parse(source).body, io.StringIO(), None
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": _shown(value)}
        outputs.append(data)
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    """A value as the richest kind of content that it has, asked for as Jupyter does."""
    if (page := getattr(value, "_repr_html_", lambda: None)()) is not None:
        return {"text/html": page.splitlines(True)}
    if (picture := getattr(value, "_repr_png_", lambda: None)()) is not None:
        return {"image/png": base64.b64encode(picture).decode()}
    return {"text/plain": repr(value).splitlines(True)}


if __name__ == "__main__":
    made = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{NOTEBOOK}: {NOTEBOOK.stat().st_size / 1024:.0f} KiB")
