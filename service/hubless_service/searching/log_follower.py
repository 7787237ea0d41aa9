"""Follows the logs of collections, so that every worker serves what any of them wrote."""

import logging
import threading
from collections.abc import Callable
from logging import ERROR, INFO
from time import monotonic
from weakref import WeakKeyDictionary

from hubless.errors import HublessError, LogCut, VersionReplaced
from hubless.search.transaction import WritableCollection

log = logging.getLogger("hubless.writes")

SECONDS = 0.1
"""Between two looks at the logs. A look at a log in which nothing changed costs about 60 µs."""
LONGEST = 5.0
"""Seconds between two looks at a log that cannot be followed. The pause doubles until then."""


REPLACED = LogCut, VersionReplaced
"""Errors of a version that only a newer one can go on from: it lacks writes, or was deleted."""


class Follower:
    """A thread that looks at the logs of all collections that are served."""

    def __init__(
        self, served: Callable[[], list[WritableCollection]], prepare: Callable[[], object], on_cut: Callable[[], None]
    ) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        prepare : called once in the thread
        on_cut : called if a log lacks writes that only a newer version has
        """
        self._served = served
        self._on_cut = on_cut
        self._prepare = prepare
        # seconds of a pause, and their end
        self._pauses: WeakKeyDictionary[WritableCollection, tuple[float, float]] = WeakKeyDictionary()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread end; the thread, if it runs."""
        self._stopping.set()
        return [self._thread] if self._thread.ident else []

    def _run(self) -> None:
        self._prepare()
        while not self._stopping.wait(SECONDS):
            self._look()

    def _look(self) -> None:
        # a function of its own: its variables must not hold a version while the thread waits
        for living in self._served():
            pause, end = self._pauses.get(living, (SECONDS / 2, 0.0))
            if monotonic() < end:
                continue
            if follow(living):
                self._on_cut()
            if living.error is None:
                self._pauses.pop(living, None)
            else:
                pause = min(2 * pause, LONGEST)
                self._pauses[living] = pause, monotonic() + pause


def follow(living: WritableCollection, *, wait: bool = False) -> bool:
    """Bring a collection up to date with its log. What cannot be followed is served as it is, and logged if it is new.

    Return whether only a newer version can go on from here.

    Parameters
    ----------
    wait : for a write or another thread that changes it now; else it is left alone
    """
    name, before = living.base.name, living.error
    try:
        looked = living.refresh(wait=wait) is not None
    except Exception as error:
        if before is None or str(error) != str(before):
            cut, unforeseen = isinstance(error, REPLACED), not isinstance(error, HublessError)
            level, what = (INFO, "a newer version is to be served") if cut else (ERROR, "writes cannot be followed")
            log.log(level, 'collection "%s": %s: %s', name, what, error, exc_info=unforeseen)
        # its traceback would hold on to collections
        living.error = error.with_traceback(None)
    else:
        if before is not None and looked:
            living.error = None
            log.info('collection "%s": writes are followed again', name)
    return isinstance(living.error, REPLACED)
