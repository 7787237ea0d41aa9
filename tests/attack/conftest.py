"""A server that is attacked. `make attack` runs all of it. Some takes longer than seconds and is marked slow."""

from functools import partial

import pytest
from support.anything import check
from support.server_process import served


@pytest.fixture(scope="session")
def victim(catalog):
    """A server without keys that waits a second for each part of a request. At the end its log has no traceback."""
    with served(catalog, receive_seconds=1, keep_alive_seconds=1) as server:
        yield server
    assert_unharmed(server)


@pytest.fixture(scope="session")
def guarded(catalog):
    """The same behind keys, of which nobody has one."""
    with served(catalog, receive_seconds=1, keep_alive_seconds=1, admin_keys="a-key-that-nobody-has") as server:
        yield server
    assert_unharmed(server)


def assert_unharmed(server):
    assert not [line for line in server.log if "Traceback" in line or " ERROR " in line]


@pytest.fixture
def fuzzed(examples):
    return partial(check, examples)
