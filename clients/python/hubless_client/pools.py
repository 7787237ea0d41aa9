"""The connections of one process, or of one event loop: so many calls at a time, and closed when the last has ended."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock, Semaphore

import httpx

from hubless_client.connection import PLACES, Way
from hubless_client.errors import CannotSend
from hubless_client.in_time import AsyncTimedClient, TimedClient


class Gate:
    """Counts the calls inside. When it is shut nobody comes in, and whoever leaves last closes the connections."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._is_shut = False

    def enter(self) -> None:
        """Raises `CannotSend` if it is shut."""
        with self._lock:
            if self._is_shut:
                raise CannotSend("the client is closed")
            self._inside += 1

    def leave(self) -> bool:
        """True if the connections are to be closed."""
        with self._lock:
            self._inside -= 1
            return self._is_shut and not self._inside

    def shut(self) -> bool:
        """True if the connections are to be closed now, as nobody is inside."""
        with self._lock:
            self._is_shut = True
            return not self._inside


class Pool:
    """For the threads of one process."""

    def __init__(self, way: Way) -> None:
        self._http = TimedClient(**way.arguments)
        self._places = Semaphore(PLACES)
        self._gate = Gate()

    @contextmanager
    def place(self) -> Iterator[httpx.Client]:
        """Wait for a place, and hold it inside the `with` block. Raises `CannotSend` if the pool is closed."""
        with self._places:
            self._gate.enter()
            try:
                yield self._http
            finally:
                if self._gate.leave():
                    self._http.close()

    def close(self) -> None:
        """Let nobody in any more. Calls that run end as usual."""
        if self._gate.shut():
            self._http.close()


class AsyncPool:
    """For the tasks of one event loop. It closes at the latest when the loop does."""

    def __init__(self, way: Way) -> None:
        self._http = AsyncTimedClient(**way.arguments)
        self._places = asyncio.Semaphore(PLACES)
        self._gate = Gate()
        self._open = self._until_the_loop_ends()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[httpx.AsyncClient]:
        """Wait for a place, and hold it inside the `async with` block. Raises `CannotSend` if the pool is closed."""
        async with self._places:
            self._gate.enter()
            try:
                yield self._http
            finally:
                if self._gate.leave():
                    await self._open.aclose()

    async def begin(self) -> None:
        """Let the running loop know: it closes the generators that were begun in it before it ends."""
        await anext(self._open)

    async def close(self) -> None:
        """Let nobody in any more. Calls that run end as usual."""
        if self._gate.shut():
            await self._open.aclose()

    def shut(self) -> None:
        """The same from outside of its loop, which closes the connections."""
        self._gate.shut()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self._http.aclose()
