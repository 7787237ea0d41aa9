"""The project stays as small as it is. Limits only fall: a feature that needs room takes something out first.

Code is counted in tokens, so docstrings, comments, blank lines and short lines cost nothing.
"""

import pytest
from support.size import complex_functions, size, tokens

LIMITS = {
    "library": 288_700,
    "service": 75_000,
    "databases": 19_500,
    "lab": 34_900,
    "demo": 4_600,
    "tests": 469_500,
    "tests_of_databases": 17_100,
    "tests_of_lab": 25_700,
    "tests_of_demo": 2_500,
    "words": 43_900,
    "settings": 28,
    "knobs": 268,
    "options_of_a_command": 12,
    "entries": 17,
}
MOST_COMPLEX = 15
"""As radon counts the branches of a function, its comprehensions among them."""


@pytest.fixture(scope="module")
def counted():
    return size()


@pytest.mark.parametrize("what", LIMITS)
def test_size_is_within_its_limit(counted, what):
    assert counted[what] <= LIMITS[what]


def test_no_public_name_stands_in_two_modules(counted):
    assert counted["names_twice"] == []


def test_no_function_is_more_complex_than_the_limit():
    assert complex_functions(MOST_COMPLEX) == {}


def test_docstrings_comments_and_blank_lines_are_no_tokens():
    bare = 'X = 1\ndef f(a):\n    return f"{a}" + "b"\n'
    airy = '"""About."""\n\nX = 1  # one\n"""Of X."""\n\n\ndef f(a):\n    """Return it."""\n\n    return f"{a}" + "b"\n'
    assert tokens(airy) == tokens(bare) == 13
