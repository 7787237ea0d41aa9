"""All connections of a process. One timer ends late ones; above the limit, a new one closes the longest idle one."""

import asyncio
import logging
import resource
import sys
from time import monotonic
from typing import Protocol

from hubless_service.settings import Settings

log = logging.getLogger("hubless.connections")

OTHER_DESCRIPTORS = 64
"""File descriptors that connections leave to the process: its listener, its log, files while they are opened."""
_LOOKS = 10  # in the shortest of the times that are watched
_LONGEST_WAIT = 1.0  # seconds between two looks
_SHORTEST_WAIT = 0.05
_SECONDS_BETWEEN_WARNINGS = 60.0


class Connection(Protocol):
    """The methods of a connection that a watch calls."""

    def check(self, now: float) -> None:
        """End the connection if it is late, by the clock of the event loop."""

    def drop(self) -> None:
        """End the connection now."""


class Watch:
    """Looks at every connection several times in each time limit.

    One timer for all costs a request nothing, and no state of a connection can be forgotten.
    """

    def __init__(self, settings: Settings) -> None:
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = sys.maxsize if descriptors == resource.RLIM_INFINITY else max(1, descriptors - OTHER_DESCRIPTORS)
        self._most = min(settings.max_connections, free)
        shortest = min(settings.receive_seconds, settings.keep_alive_seconds) / _LOOKS
        self._seconds = min(max(shortest, _SHORTEST_WAIT), _LONGEST_WAIT)
        self._connections: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # for a request; the one that has waited longest comes first
        self._timer: asyncio.TimerHandle | None = None
        self._warned = 0.0

    def add(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a new connection. If there are too many, end the one that has waited longest for a request."""
        if len(self._connections) >= self._most:
            self._warn()
            if not self._waiting:
                connection.drop()
                return
            longest = next(iter(self._waiting))
            self.remove(longest)
            longest.drop()
        self._connections.add(connection)
        self._waiting[connection] = None
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look, loop)

    def remove(self, connection: Connection) -> None:
        """Watch a connection no more, as it has ended."""
        self._connections.discard(connection)
        self._waiting.pop(connection, None)

    def is_answered(self, connection: Connection) -> None:
        """Note that a request has come: the connection does not wait."""
        self._waiting.pop(connection, None)

    def waits(self, connection: Connection) -> None:
        """Note that the connection waits for a request again."""
        if connection in self._connections:
            self._waiting[connection] = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in tuple(self._connections):
            connection.check(now)
        self._timer = loop.call_later(self._seconds, self._look, loop) if self._connections else None

    def _warn(self) -> None:
        now = monotonic()
        if now - self._warned >= _SECONDS_BETWEEN_WARNINGS:
            self._warned = now
            log.warning("%d connections are open, no more are allowed: ending those that wait longest", self._most)
