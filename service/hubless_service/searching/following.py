"""Follows the logs of collections, so that every worker serves what any of them wrote."""

import logging
import threading
from collections.abc import Callable

from hubless.errors import HublessError, LogCut
from hubless.search.living import Living

log = logging.getLogger("hubless.writes")

SECONDS = 0.1
"""Between two looks at the logs. A look at a log in which nothing changed costs about 10 µs."""


class Follower:
    """A thread that looks at the logs of all collections that are served."""

    def __init__(
        self, served: Callable[[], list[Living]], prepare: Callable[[], object], on_cut: Callable[[], None]
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
            if follow(living):
                self._on_cut()


def follow(living: Living) -> bool:
    """Bring a collection up to date with its log. What cannot be followed is logged once, and served as it is.

    Return whether only a newer version can go on from here.
    """
    before = living.trouble
    try:
        living.look()
    except LogCut as error:
        if str(error) != before:
            log.info('collection "%s": a newer version is to be served: %s', living.base.name, error)
        return True
    except HublessError as error:
        if str(error) != before:
            log.error('collection "%s": writes cannot be followed: %s', living.base.name, error)  # noqa: TRY400
    except Exception as error:
        if str(error) != before:
            log.exception('collection "%s": writes cannot be followed', living.base.name)
    return False
