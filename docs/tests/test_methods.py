import re
from dataclasses import fields
from pathlib import Path

import pytest

from hubless.corrections import CORRECTIONS, folds
from hubless.corrections.query_time import CANDIDATES
from hubless.search.ranker import MOST_CANDIDATES
from hubless_lab import plans

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "methods.md").read_text()


def rows(section, page=PAGE):
    """First cell without its backticks → the other cells, of the first table of a section."""
    text = re.search(rf"(?ms)^## {re.escape(section)}$(.*?)(^## |\Z)", page).group(1)
    return {name: rest.split(" | ") for name, rest in re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", text)}


def defaults(name):
    return {
        field.name if field.default is None else f"{field.name}={field.default!r}".replace("'", '"')
        for field in fields(CORRECTIONS[name])
    }


@pytest.mark.parametrize("name", CORRECTIONS)
def test_parameters_and_defaults_are_as_documented(name):
    tables = rows("Folded") | rows("Gated") | rows("Rescored")
    assert set(re.findall(r"`([^`]+)`", tables[name][0])) == defaults(name)


def test_every_correction_is_explained_under_its_kind():
    assert {*rows("Gated"), *rows("Rescored")} == {name for name in CORRECTIONS if not folds(name)}
    assert set(rows("Folded")) == {name for name in CORRECTIONS if folds(name)}
    assert set(rows("Whole matrix", (DOCS.parent / "lab/docs/papers.md").read_text("utf-8"))) == set(plans.WHOLE_MATRIX)


def test_numbers_of_candidates_are_as_documented():
    assert f"best {CANDIDATES} targets" in PAGE
    assert f"at most {MOST_CANDIDATES}" in PAGE


def test_every_method_with_query_time_arrays_is_in_the_bundle_format():
    table = re.search(r"(?ms)^## query_time.npz$(.*?)^## ", (DOCS / "bundle-format.md").read_text()).group(1)
    named = {name for cell in re.findall(r"(?m)^\| (`.+?) \|", table) for name in re.findall(r"`(\w+)`", cell)}
    assert named == {name for name in CORRECTIONS if not folds(name)}
