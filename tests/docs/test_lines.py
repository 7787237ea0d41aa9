from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
WIDTH = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_of_a_page_are_short(page):
    lines = enumerate(page.read_text("utf-8").splitlines(), 1)
    # a row of a table cannot be wrapped
    long = [f"{page.name}:{number}" for number, line in lines if len(line) > WIDTH and not line.startswith("|")]
    assert long == []
