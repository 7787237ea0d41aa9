import re

import pytest
from support.printed import VARIANTS, words

NUMBER = re.compile(r"[+<-]?\d[\d,.]*( ± [\d.]+| \[.+\]|%| %)?")


def rows(printed):
    lines = [line for line in printed.splitlines() if line.startswith(("│", "┃"))]
    return [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("command", ["inspect", "scan", "query, compared", "evaluate a collection"])
def test_numbers_of_a_wide_table_are_whole_in_a_narrow_one(run, monkeypatch, prepared, command):
    found = []
    for columns in (80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        given = words(command, prepared)
        ended = run(*(given if command in VARIANTS else [command, *given]))
        assert ended.code == 0
        found.append({cell for row in rows(ended.out) for cell in row})
    narrow, wide = found
    numbers = {cell for cell in wide if re.fullmatch(NUMBER, cell) and "[" not in cell}
    assert numbers
    assert numbers <= narrow
