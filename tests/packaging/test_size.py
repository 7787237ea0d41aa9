"""The project stays as small as it is. A feature raises a limit in its own commit, which says what for.

Code is counted in tokens, so docstrings, comments, blank lines and short lines cost nothing.
"""

from pathlib import Path

import pytest
from support.size import names_twice, size, tokens

LIMITS = {
    "library": 329_000,
    "service": 76_000,
    "tests": 490_000,
    "words": 44_200,
    "settings": 28,
    "knobs": 285,
    "options_of_a_command": 12,
    "entries": 17,
}
TWICE = set((Path(__file__).parent / "names_twice.txt").read_text("utf-8").split())
"""Public names that stand in two modules or more. Take a name out when it stands once; add none."""


@pytest.fixture(scope="module")
def counted():
    return size()


@pytest.mark.parametrize("what", LIMITS)
def test_size_is_within_its_limit(counted, what):
    assert counted[what] <= LIMITS[what]


def test_no_other_public_name_stands_in_two_modules():
    assert set(names_twice()) - TWICE == set()


def test_names_that_stand_once_are_no_exceptions():
    assert TWICE - set(names_twice()) == set()


def test_docstrings_comments_and_blank_lines_are_no_tokens():
    bare = 'X = 1\ndef f(a):\n    return f"{a}" + "b"\n'
    airy = '"""About."""\n\nX = 1  # one\n"""Of X."""\n\n\ndef f(a):\n    """Return it."""\n\n    return f"{a}" + "b"\n'
    assert tokens(airy) == tokens(bare) == 13
