"""The project stays as small as it is. A feature raises a limit only in a commit that says for what."""

import pytest
from support.size import names_twice, size

LIMITS = {
    "library": 30_680,
    "service": 8_895,
    "tests": 37_700,
    "words": 32_000,
    "settings": 40,
    "options": 130,
    "options_of_a_command": 12,
    "entries": 16,
}
GOALS = {"library": 27000, "service": 8500, "tests": 34000, "words": 32000, "settings": 40, "entries": 16}
"""The sizes that the project is on its way to. Lower a limit when you reach a smaller size."""


@pytest.fixture(scope="module")
def counted():
    return size()


@pytest.mark.parametrize("what", LIMITS)
def test_size_is_within_its_limit(counted, what):
    assert counted[what] <= LIMITS[what]


def test_no_limit_is_below_its_goal():
    assert all(LIMITS[what] >= goal for what, goal in GOALS.items())


def test_no_two_modules_or_classes_share_a_name():
    assert names_twice() == []
