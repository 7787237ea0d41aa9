import pytest
from support.printed import words


@pytest.mark.parametrize(("columns", "most"), [("80", 80), (None, 100), ("500", 200)])
def test_tables_are_as_wide_as_asked_100_without_a_terminal_and_never_over_200(
    run, prepared, monkeypatch, columns, most
):
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    lines = run("inspect", *words("inspect", prepared)).out.splitlines()
    assert max(map(len, lines)) <= most
