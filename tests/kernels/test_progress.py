"""Lines of progress, where no terminal shows bars."""

import pytest

from hubless.progress import EVERY, Lines, bars_or_lines, progress_bars


@pytest.fixture
def clocked():
    now = [100.0]
    return now, Lines(lambda: now[0])


def test_work_says_no_line_before_its_time_and_then_one_now_and_then(clocked, capsys):
    now, lines = clocked
    with progress_bars(lines) as steps:
        advance = steps.step("tuning", 4_000)
        for _ in range(4):
            now[0] += 0.6 * EVERY
            advance(1_000)
    assert capsys.readouterr().err == "tuning: 2,000 of 4,000, 6 s\ntuning: 4,000 of 4,000, 12 s\n"


def test_a_step_that_begins_late_says_so_at_once(clocked, capsys):
    now, lines = clocked
    lines.step("reading")
    now[0] += EVERY
    lines.step("fitting", 3)
    assert capsys.readouterr().err == "fitting: 0 of 3, 5 s\n"


def test_commands_show_lines_where_standard_error_is_no_terminal(capsys):
    assert isinstance(bars_or_lines(), Lines)
