"""The cells of the notebook give what is stored, as far as that can be seen without what runs notebooks."""

import json
from pathlib import Path

from support.evaluating import evaluated
from support.pages import without_numbers

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
KINDS = {"text/plain": "__repr__", "text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def test_each_cell_gives_the_value_and_the_warnings_that_are_stored(caplog):
    names = {}
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        caplog.clear()
        value = evaluated("".join(cell["source"]), names)
        *warned, output = cell["outputs"]
        said = [without_numbers(text) for stream in warned for text in stream["text"]]
        assert said == [without_numbers(f"{line}\n") for line in caplog.messages], cell["id"]
        assert without_numbers(repr(value)) == without_numbers("".join(output["data"]["text/plain"])), cell["id"]
        assert {kind for kind, method in KINDS.items() if hasattr(value, method)} == set(output["data"]), cell["id"]
