#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of a notebook as a notebook does, without Jupyter: run_cells.py NOTEBOOK.ipynb

What a cell prints is printed, and so is the value of its last line; of a value that a notebook draws, only that
it is one."""

import ast
import json
import sys
from pathlib import Path


def run(source, name, variables):
    """One cell: its statements, then its last line's value."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), variables)  # pylint: disable=exec-used
    if last is None:
        return
    value = eval(compile(ast.Expression(last.value), name, "eval"), variables)  # pylint: disable=eval-used
    if hasattr(value, "_repr_html_"):
        drawn = value._repr_html_()
        print(f"<{type(value).__name__}: {len(drawn)} characters of HTML>")
    elif value is not None:
        print(value)


def main():
    path = Path(sys.argv[1])
    variables = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], 1):
        if cell["cell_type"] == "code":
            run("".join(cell["source"]), f"{path.name}, cell {number}", variables)


main()
