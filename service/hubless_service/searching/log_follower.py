"""Follows the logs of the collections that are served: those with news, and all of them now and then."""

import logging
from dataclasses import dataclass
from time import monotonic, thread_time

from hubless.errors import HublessError
from hubless.search.transaction import WritableCollection
from hubless.store.notes import Note
from hubless_service.searching.shelf import REPLACED, Shelf

_log = logging.getLogger("hubless.writes")

_RESTS = 500
"""Times as long as a look at all logs took of a processor. It finds what no number tells, such as a damaged log."""
_MOST_SECONDS = 30.0
"""Between two looks at all logs."""


@dataclass
class LogFollower:
    """Brings collections up to date with their logs. While nobody writes, it looks at one number of the catalog."""

    _written: Note
    _shelf: Shelf
    _seen: tuple[int, int] | None = None  # the number, before the logs with news were looked at
    _next_all: float = 0.0

    def forget(self) -> None:
        """Look for news again, in a version that was not on the shelf when the last ones were found."""
        self._seen = None

    def look(self) -> bool:
        """Follow what may have more writes. Return whether a newer version is to be looked for."""
        seen = self._written.stamp()
        every = monotonic() >= self._next_all
        if seen == self._seen and not every:
            return False
        self._seen = seen  # before the shelf is read: a version that is put on it from now on has this forgotten
        started = thread_time()
        living = [each for each in self._shelf.living() if every or each.is_behind]
        replaced = [catch_up(each) for each in living]
        if every:
            self._next_all = monotonic() + min(_RESTS * (thread_time() - started), _MOST_SECONDS)
        if any(each.is_behind for each in living):  # it was being written to here, or cannot be followed
            self.forget()
        return any(replaced)


def catch_up(living: WritableCollection, *, wait: bool = False) -> bool:
    """Bring a collection up to date with its log. Return whether only a newer version can go on from here."""
    name = living.base.name
    before = living.error
    try:
        looked = living.refresh(wait=wait) is not None
    except Exception as error:
        if before is None or str(error) != str(before):
            replaced = isinstance(error, REPLACED)
            unforeseen = not isinstance(error, HublessError)
            told = "a newer version is to be served" if replaced else "writes cannot be followed"
            level = logging.INFO if replaced else logging.ERROR
            _log.log(level, 'collection "%s": %s: %s', name, told, error, exc_info=unforeseen)
        # its traceback would hold on to collections
        living.error = error.with_traceback(None)
    else:
        if before is not None and looked:
            living.error = None
            _log.info('collection "%s": writes are followed again', name)
    return isinstance(living.error, REPLACED)
