"""The command line refuses the same rows: in a line of the same words, with exit code 1, or 2 for wrong usage."""

import re

import pytest
from support.refusals.calls import asked, command
from support.refusals.shape import COMMAND
from support.refusals.table import TABLE


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked")
    asked().save(path, "things")
    return path


@pytest.mark.parametrize("row", [row for row in TABLE if COMMAND in row.doors], ids=str)
def test_wrong_option_is_refused_by_name(row, run, catalog, tmp_path):
    where = catalog if row.call == "query" else tmp_path / "catalog"
    ended = run(*command(row, tmp_path), "--catalog", where)
    assert (ended.out, ended.code in (1, 2)) == ("", True)
    said = re.fullmatch(r"error: (?:Invalid value for --set: )?(.*)\n(See: .*\n)?", ended.err)
    assert said, ended.err
    assert row.is_said_by(said[1]), ended.err
    assert (ended.code == 2) == bool(said[2])
    assert not list(tmp_path.glob("catalog/*/versions/*"))
