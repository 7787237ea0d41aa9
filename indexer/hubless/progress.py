"""Progress bars for long work: on a terminal, on standard error, and silent elsewhere, or a line now and then."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress  # no part of the base install: imported where bars are shown

Advance = Callable[[int], None]
"""Told the number of targets that are done, for a progress bar."""


EVERY = 5.0
"""Seconds between two lines, and before the first."""


def no_progress(rows: int) -> None:
    """Ignore the rows that are done."""


class Steps(Protocol):
    """Announces the steps of a long piece of work."""

    def step(self, description: str, total: int | None = None) -> Advance:
        """Begin a step of so many rows (None: unknown), and end the one before; returns what counts its rows."""


class Silent:
    """Says nothing."""

    def step(self, description: str, total: int | None = None) -> Advance:
        return no_progress


class Lines:
    """A line on standard error now and then, where no terminal shows bars."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = self._told = clock()

    def step(self, description: str, total: int | None = None) -> Advance:
        done = 0
        of = "" if total is None else f" of {total:,}"

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            if (now := self._clock()) - self._told >= EVERY:
                self._told = now
                sys.stderr.write(f"{description}: {done:,}{of}, {now - self._began:.0f} s\n")

        advance(0)
        return advance


def bars_or_lines() -> "Progressing":
    """Return what shows progress to whoever runs a command: bars on a terminal, lines elsewhere."""
    return None if sys.stderr.isatty() else Lines()


class Bars:
    """One bar a step."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress

    def step(self, description: str, total: int | None = None) -> Advance:
        self.finish()
        task = self._progress.add_task(description, total=total)
        return lambda rows: self._progress.update(task, advance=rows)

    def finish(self) -> None:
        """Complete the bar of the last step."""
        for task in self._progress.tasks:
            self._progress.update(task.id, total=task.total or 1, completed=task.total or 1)


Progressing = bool | Steps | None
"""Whether to show progress bars; None does if standard error is a terminal. Or what is told of the steps instead."""


@contextmanager
def progress_bars(wanted: Progressing = None) -> Iterator[Steps]:
    """Progress bars while inside, or what is told instead."""
    if not (wanted is None or isinstance(wanted, bool)):
        yield wanted
        return
    # not rich's is_terminal, which FORCE_COLOR sets in CI, where bars would fill the log
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield Silent()
        return
    from rich import console, progress as drawn

    columns = (
        drawn.SpinnerColumn(finished_text="✓"),
        drawn.TextColumn("{task.description}"),
        drawn.BarColumn(),
        drawn.MofNCompleteColumn(),
        drawn.TimeRemainingColumn(),
    )
    with drawn.Progress(*columns, console=console.Console(stderr=True)) as progress:
        bars = Bars(progress)
        yield bars
        bars.finish()
