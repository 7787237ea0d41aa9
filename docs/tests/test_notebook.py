import importlib.util
from pathlib import Path

import pytest
from support.pages import without_numbers

nbformat = pytest.importorskip("nbformat", reason="needs what runs notebooks: make extras")

DOCS = Path(__file__).parents[2] / "docs"
STORED = nbformat.read(DOCS / "notebook.ipynb", as_version=4)


@pytest.fixture(scope="module")
def ran():
    spec = importlib.util.spec_from_file_location("run_notebook", DOCS / ".hooks" / "run_notebook.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    empty = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    for cell in empty.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return script.run(empty)


def shown(notebook):
    """Of each output its cell, the kinds of data, and its text without the numbers, which differ between machines."""
    return [
        (cell.id, output.output_type, output.get("name"), sorted(output.get("data", {})), words(output))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]


def words(output):
    return without_numbers(output.get("text", "") or output.get("data", {}).get("text/plain", ""))


def test_what_is_stored_is_what_the_cells_show(ran):
    assert shown(ran) == shown(STORED), "say `make notebook` and commit docs/notebook.ipynb"


def test_it_shows_the_picture_of_n10_and_asks_for_labels_once(ran):
    pictures = [cell for cell, _, _, kinds, _ in shown(ran) if "image/svg+xml" in kinds]
    assert pictures == ["picture", "bars", "stored"]
    assert [(cell, "# labelled queries" in text) for cell, _, name, _, text in shown(ran) if name] == [("fit", True)]
