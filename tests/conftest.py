"""What the tests of several parts share."""

import pytest

from hubless.corrections import testing

pytest_plugins = ["support.usual", "support.commands", "support.served"]


@pytest.fixture
def small_blocks():
    """5 targets by 7 bank queries at a time, reduced in strips; sizes 4 to 15 straddle them."""
    with testing.small_blocks():
        yield
