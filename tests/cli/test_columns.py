"""Tables on narrow and on wide terminals: nothing is lost, and no number is broken."""

import re

import pytest
from support.printed import VARIANTS, WORDS, words

NUMBER = re.compile(r"[+<-]?\d[\d,.]*( ± [\d.]+| \[.+\]|%| %)?")


def cells(line):
    return [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]


def rows(printed):
    """The lines of tables, without those that only continue a wrapped cell."""
    return [cells(line) for line in printed.splitlines() if line.startswith(("│", "┃"))]


@pytest.fixture
def at_width(run, monkeypatch, prepared):
    """Run a command with tables so many columns wide."""

    def run_at(columns, command):
        monkeypatch.setenv("COLUMNS", str(columns))
        given = words(command, prepared)
        ended = run(*(given if command in VARIANTS else [*command.split(), *given]))
        assert ended.code == 0
        return ended.out

    return run_at


NO_TABLE = {"rollback", "alias", "prune", "delete", "merge", "report", "bank forget", "reindex", "correct"}


@pytest.mark.parametrize("command", sorted({*WORDS, *VARIANTS} - NO_TABLE))
def test_tables_fit_and_all_numbers_of_a_wide_one_are_whole_in_a_narrow_one(at_width, command):
    narrow, wide = at_width(80, command), at_width(200, command)
    for printed, columns in ((narrow, 80), (wide, 200)):
        assert max(len(line) for line in printed.splitlines() if line[:1] in "│┃┏┌└┡├") <= columns
    found = {cell for row in rows(wide) for cell in row if NUMBER.fullmatch(cell)}
    assert found
    assert found <= {cell for row in rows(narrow) for cell in row}


def test_evaluation_shows_gain_and_its_interval_in_its_first_lines_at_80_columns(at_width):
    first = rows(at_width(80, "evaluate a collection"))[0]
    assert first[:4] == ["correction", "R@1", "ΔR@1 [95 %]", "p"]
