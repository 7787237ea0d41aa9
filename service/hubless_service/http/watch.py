"""The connections of a process: those that are late are ended, and a full house makes room for a new one."""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Protocol

from hubless.kernels.quota import most_descriptors
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.connections")

_FREE, _SHARE_FREE = 64, 8  # descriptors that connections leave free: so many, or one of so many if there are few
_FEW = 1024  # descriptors, so few that they are counted at each new connection
_LOOKS = 10  # in the shortest of the times that are watched
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 1.0  # seconds between two looks
_SECONDS_BETWEEN_WARNINGS = 60.0


class Watched(Protocol):
    """A connection."""

    transport: asyncio.Transport

    def check(self, now: float) -> None:
        """End it if its client is late, by the clock of the loop."""


class Watch:
    """All connections of a process, and the one timer for them."""

    def __init__(self, settings: Settings) -> None:
        self._most = self._allowed = settings.max_connections
        descriptors = most_descriptors()
        self._usable = descriptors - min(_FREE, descriptors // _SHARE_FREE)
        self._few = descriptors <= _FEW
        shortest = min(settings.receive_seconds, settings.keep_alive_seconds) / _LOOKS
        self._seconds = min(max(shortest, _SHORTEST_WAIT), _LONGEST_WAIT)
        self._connections: set[Watched] = set()
        self.waiting: dict[Watched, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._warned = -_SECONDS_BETWEEN_WARNINGS

    def add(self, connection: Watched, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a new connection. If there are too many, end those that have waited longest for a request."""
        self._connections.add(connection)
        self.waiting[connection] = None
        if self._timer is None:
            self._look(loop)
        elif self._few:
            self._count()
        while len(self._connections) > self._most and self.waiting:
            if (now := loop.time()) >= self._warned + _SECONDS_BETWEEN_WARNINGS:
                self._warned = now
                _log.warning("%d connections are open, no more are allowed: ending those that wait longest", self._most)
            longest = next(iter(self.waiting))
            self.remove(longest)
            longest.transport.abort()

    @property
    def busy(self) -> int:
        """The number of connections that do not wait for a request."""
        return len(self._connections) - len(self.waiting)

    def remove(self, connection: Watched) -> None:
        """Watch a connection no more, as it has ended."""
        self._connections.discard(connection)
        self.waiting.pop(connection, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._count()
        now = loop.time()
        for connection in tuple(self._connections):
            connection.check(now)
        self._timer = loop.call_later(self._seconds, self._look, loop) if self._connections else None

    def _count(self) -> None:
        """Count the descriptors of all else, and so how many connections there may be."""
        with suppress(OSError):  # there is no such folder, or no descriptor to read it by
            others = len(os.listdir("/dev/fd")) - len(self._connections)  # noqa: PTH208  at half the cost
            self._most = min(self._allowed, max(1, self._usable - others))
