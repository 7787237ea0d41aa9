"""One request and its answer, at less cost than uvicorn's own: nearly all come in one read and go in one write."""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any

from uvicorn._types import ASGISendEvent, HTTPResponseBodyEvent, HTTPResponseStartEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

Fields = dict[bytes, bytes]


class Cycle(RequestResponseCycle):
    """A request that the app answers.

    The head of an answer waits for its body, and both leave in one write. uvicorn's own code sends whatever is not
    simple: an answer in several parts, without a length, or to a client that is slow to take it.

    Attributes
    ----------
    arrived : when the head was read; the request may then wait for others of its connection
    on_gone : called if the client hangs up before it is answered
    fields : the headers by their names, for each name the last of them
    loop : in which it is answered
    """

    def __init__(self, fields: Fields, loop: asyncio.AbstractEventLoop, *given: Any) -> None:
        super().__init__(*given)
        self.fields = fields
        self.loop = loop
        self.arrived = perf_counter()
        self.on_gone: Callable[[], object] | None = None
        self._start: HTTPResponseStartEvent | None = None

    def whole_body(self) -> bytes | None:
        """The body, if all of it has come and nobody has asked for a part of it."""
        if self.more_body or self.disconnected:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.message_event.clear()
        return body

    def answer(self, status: int, lines: bytes, body: bytes) -> None:
        """Send a whole answer, without an app.

        Parameters
        ----------
        lines : of the head, each with its end; nothing of a client's may be in them
        """
        self.waiting_for_100_continue = False
        self.response_started = self.response_complete = True
        last = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        defaults = b"".join([b"%b: %b\r\n" % header for header in self.default_headers])
        self.transport.write(b"".join((STATUS_LINE[status], defaults, lines, last, body)))
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def disconnect(self) -> None:
        """Let the app know that nobody waits for its answer."""
        self.disconnected = True
        self.message_event.set()
        if self.on_gone:
            self.on_gone()

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message
            return
        start, self._start = self._start, None
        if start:
            if message["type"] == "http.response.body" and self._is_sent_at_once(start, message):
                return
            await super().send(start)
        await super().send(message)

    def _is_sent_at_once(self, start: HTTPResponseStartEvent, message: HTTPResponseBodyEvent) -> bool:
        """Send a whole answer, if it is simple; whether it is."""
        if self.disconnected or self.flow.write_paused or message.get("more_body") or self.scope["method"] == "HEAD":
            return False
        body = message.get("body", b"")
        headers = [*self.default_headers, *start.get("headers", ())]
        length = b""
        lines = [STATUS_LINE[start["status"]]]
        for name, value in headers:
            if name == b"content-length":
                length = value
            elif name in (b"connection", b"transfer-encoding"):
                return False
            lines += (name, b": ", value, b"\r\n")
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        # a line's end within a value would begin another header, or another answer
        ends = len(headers) + 2 - self.keep_alive
        if head.count(b"\n") != ends or head.count(b"\r") != ends or length != b"%d" % len(body):
            return False
        self.waiting_for_100_continue = False
        self.response_started = self.response_complete = True
        self.transport.write(b"".join((head, b"\r\n", body)))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True
