"""A server that is attacked, and a table of what was tried.

`make attack` runs all of it. What takes longer than seconds is marked slow, as elsewhere.
"""

from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import waits
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
def attack(request):
    """Count an attack in the table: call it with its name, and with the number of tries when it is over."""

    def count(name, tries, longest_wait=None):
        request.node.user_properties.append(("attack", (name, tries, longest_wait)))

    return count


@pytest.fixture
def probed(victim):
    """A context manager that asks /livez all the time; yields an object that knows the longest wait, in seconds."""

    @contextmanager
    def probed(server=victim):
        with waits.probed(server.url) as probe:
            yield probe

    return probed


def pytest_terminal_summary(terminalreporter):
    """Print the table of all attacks that ran."""
    table = defaultdict(lambda: [0, 0, None])
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in getattr(report, "user_properties", ()):
                if name == "attack" and report.when == "call":
                    attack, tries, wait = value
                    row = table[attack]
                    row[0] += tries
                    row[1] += outcome == "failed"
                    row[2] = max((w for w in (row[2], wait) if w is not None), default=None)
    if table:
        terminalreporter.section("attacks")
        terminalreporter.write_line("| attack | tries | failed checks | longest wait for /livez |")
        terminalreporter.write_line("| --- | --- | --- | --- |")
        for name, (tries, failed, wait) in sorted(table.items()):
            shown = "" if wait is None else f"{1000 * wait:.0f} ms"
            terminalreporter.write_line(f"| {name} | {tries:,} | {failed} | {shown} |")
