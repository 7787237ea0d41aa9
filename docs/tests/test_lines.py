import re

import pytest
from support.pages import PAGES

WIDTH = 120
CODE = r"(?ms)^ *```.*?^ *```|`[^`]*`|\]\([^)]*\)|<!--.*?-->"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_of_a_page_are_short(page):
    lines = enumerate(page.read_text("utf-8").splitlines(), 1)
    # a row of a table cannot be wrapped
    long = [f"{page.name}:{number}" for number, line in lines if len(line) > WIDTH and not line.startswith("|")]
    assert long == []


MADE = "performance"  # of the words of benchmarks


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != MADE], ids=lambda page: page.stem)
def test_numbers_are_written_one_way(page):
    """As 0.83 and 5 %, outside of code."""
    words = re.sub(CODE, "", page.read_text("utf-8"))
    assert re.findall(r"(?<![\w.\d/*)\]])\.\d+|\d%", words) == []
