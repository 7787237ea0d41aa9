"""The library refuses each row of the table in words that name the parameter, and nothing is made."""

import pytest
from support.refusals.calls import CALLS
from support.refusals.shape import PYTHON
from support.refusals.table import TABLE


@pytest.mark.parametrize("row", [row for row in TABLE if PYTHON in row.doors], ids=str)
def test_wrong_argument_is_refused_by_name(row, tmp_path):
    arguments = row.arguments(tmp_path)
    with pytest.raises(row.error) as refused:
        CALLS[row.call](tmp_path, **arguments)
    said = str(refused.value)
    assert row.is_said_by(said), said
    assert type(refused.value) is row.error
    assert "\n" not in said
    assert not list(tmp_path.rglob("versions/*"))


@pytest.mark.parametrize("call", CALLS)
def test_call_without_a_wrong_argument_is_taken(call, tmp_path):
    CALLS[call](tmp_path)
