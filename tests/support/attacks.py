"""The fixture `attack`, which counts what is tried, and the table of all counts at the end of a run."""

from collections import defaultdict

import pytest


@pytest.fixture
def attack(request):
    """Count an attack in the table: call it with its name, and with the number of tries when it is over."""

    def count(name, tries, longest_wait=None):
        request.node.user_properties.append(("attack", (name, tries, longest_wait)))

    return count


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
