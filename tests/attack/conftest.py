"""A server that is attacked. `make attack` runs all of it. Some takes longer than seconds and is marked slow."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from support import waits
from support.anything import check
from support.server_process import served

HERE = Path(__file__).parent


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
def probed(victim):
    """A context manager that asks /livez all the time; yields an object that knows the longest wait, in seconds."""

    @contextmanager
    def probed(server=victim):
        with waits.probed(server.url) as probe:
            yield probe

    return probed


@pytest.fixture
def fuzzed(attack, examples):
    """Check an example for values of a strategy, and count them under the name of what parses them."""

    def fuzzed(name, strategy, example):
        check(examples, strategy, lambda tried: attack(f"anything in place of {name}", tried), example)

    return fuzzed
