# SPDX-License-Identifier: Apache-2.0
"""examples/notebook in a kernel of Jupyter: every cell runs, and what can be drawn is."""

from conftest import ROOT, needed

NOTEBOOK = ROOT / "examples" / "notebook" / "hesitant_attention.ipynb"


def test_every_cell_runs():
    nbformat, client = needed("nbformat"), needed("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    drawn = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(drawn) == 2 and "taken" in drawn[0] and "fraction_of_roof" in drawn[1]
