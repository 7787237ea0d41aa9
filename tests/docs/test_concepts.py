import re
from dataclasses import fields
from pathlib import Path

import pytest

from hubless.corrections import CORRECTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text()
SECTION = re.search(r"(?ms)^## Corrections$(.*?)^## ", PAGE).group(1)
ROWS = dict(re.findall(r"(?m)^\| `([a-z]+)` \| (.*)$", SECTION))


def parameters(name):
    """How the page writes the parameters of a correction, those without a default value bare."""
    return {
        field.name if field.default is None else f"{field.name}={field.default!r}".replace("'", '"')
        for field in fields(CORRECTIONS[name])
    }


def test_no_row_is_of_an_unknown_correction():
    assert set(ROWS) <= set(CORRECTIONS)


@pytest.mark.parametrize("name", ROWS)
def test_parameters_and_defaults_of_a_correction_are_as_documented(name):
    column = ROWS[name].split("|")[1]
    written = ROWS["sn"].split("|")[1] if column.strip() == "as `sn`" else column
    assert set(re.findall(r"`([^`]+)`", written)) == parameters(name)
