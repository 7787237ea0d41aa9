"""A request over our own server and its answer: filled while it comes, and sent in one write."""

import asyncio
from collections import deque
from http import HTTPStatus
from typing import Any, Protocol

from starlette.types import Message, Scope

from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Headers, Trace
from hubless_service.http.watch import Watch

MOST_WAITING_BYTES = 65_536
"""Bytes of a body that wait to be read; while there are more, the client is not heard."""
_LINES = {each.value: b"HTTP/1.1 %d %b\r\n" % (each.value, each.phrase.encode()) for each in HTTPStatus}


class Carrier(Protocol):
    """The connection of some requests."""

    transport: asyncio.Transport
    watch: Watch
    writable: asyncio.Future[None] | None
    server: Any

    def read_on(self) -> None:
        """Hear the client again."""

    def end(self, exchange: "Exchange") -> None:
        """Go on after an answer."""


class Exchange(Trace):
    """A request, and its answer."""

    refusal: HttpProblem | None = None
    """The answer to what is no request."""
    more_body = True
    answered = False
    _waiting_bytes = 0
    _told_all = False
    _waiter: asyncio.Future[None] | None = None

    def __init__(self, connection: Carrier, scope: Scope, heads: dict[bytes, bytes], *, keep_alive: bool) -> None:
        super().__init__("", scope, heads)
        self._connection = connection
        self.keep_alive = keep_alive
        self._parts: deque[bytes] = deque()  # of the body, that nobody has asked for yet
        self._sends_continue = b"expect" in heads and heads[b"expect"].lower() == b"100-continue"

    @property
    def alone(self) -> bool:  # type: ignore[override]
        """Return True if this process answers no other request now."""
        return self._connection.watch.busy <= 1

    def take(self, part: bytes) -> bool:
        """Add a part of the body. Return whether no more should come until some of it is read."""
        self._parts.append(part)
        self._waiting_bytes += len(part)
        self._wake()
        return self._waiting_bytes > MOST_WAITING_BYTES

    def end_body(self) -> None:
        """Note that the body is whole."""
        self.more_body = False
        self._wake()

    def mentions(self, text: bytes) -> bool:
        """Return whether a text stands in what came of the body, or in the query string."""
        return any(text in part for part in (*self._parts, self.scope["query_string"]))

    def whole_body(self) -> bytes | None:
        if self.more_body or self.disconnected:
            return None
        return self._read()

    async def receive(self) -> Message:
        if self._sends_continue and not self.answered and not self._parts:
            self._sends_continue = False
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while (self.more_body or self._told_all) and not (self._parts or self.disconnected or self.answered):
            self._connection.read_on()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.disconnected or self.answered:
            return {"type": "http.disconnect"}
        self._told_all = not self.more_body  # from then on this waits until the client hangs up
        return {"type": "http.request", "body": self._read(), "more_body": self.more_body}

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer. Nothing of a client's is in its headers."""
        connection = self._connection
        if connection.writable is not None and not self.disconnected:
            await connection.writable
        if self.disconnected:
            return
        self.answered = True
        self._wake()
        lines = [_LINES[status]]
        for name, value in (*connection.server.default_headers, *headers):
            if name == b"connection":  # which says that it ends
                self.keep_alive = False
            else:
                lines += (name, b": ", value, b"\r\n")
        lines += (b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n", body)
        connection.transport.write(b"".join(lines))
        connection.end(self)

    def disconnect(self) -> None:
        """Let the app know that nobody waits for its answer."""
        self.disconnected = True
        self._wake()
        if self.on_gone:
            self.on_gone()

    def _read(self) -> bytes:
        body = self._parts.popleft() if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._waiting_bytes = 0
        return body

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
