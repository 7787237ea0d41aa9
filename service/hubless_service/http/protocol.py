"""HTTP over a connection, for clients that send or take slowly, which uvicorn waits for for ever; and for too many.

To make a task for a request, to be told in it that there is no room, takes about 40 µs more than to say so here (of
some 200 with reading and writing): time that those lack who are answered.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hubless_service.http.trace import ARRIVED

Refuse = Callable[[dict[str, Any], bytes], Response | None]
"""Takes the scope and the body of a request; gives the answer of a refusal, or None if it is to be tried."""

_MANY = 16  # requests that are being answered: then this one may have waited to be read, and to no avail
_HOLD_SECONDS, _HOLD_BYTES = 0.1, 2**16  # for the body of such a request: what is longer the app reads
_LAST_RECEIVED = struct.Struct("52xI")  # milliseconds, in Linux's `struct tcp_info`


def _try(scope: dict[str, Any], body: bytes) -> Response | None:
    """There is always room."""
    return None


class Protocol(HttpToolsProtocol):
    """Closes a connection that has not sent the whole head of a request in time, or takes none of a long answer.

    Between requests uvicorn's own keep-alive timeout holds; how long a body may take, the app decides. Under load it
    asks `refuse` about requests that came whole.
    """

    seconds = 20.0
    refuse: Refuse = staticmethod(_try)
    _held: bytes | None = None
    """The body, as far as it has come, of a request that may be refused."""
    _holding: asyncio.TimerHandle | None = None
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_head()

    def on_message_begin(self) -> None:
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        # to ask takes longer than most answers are late
        unread = seconds_unread(self.transport) if len(self.tasks) >= _MANY else 0.0
        cast(dict[str, Any], self.scope)[ARRIVED] = perf_counter() - unread
        if self._may_be_refused():
            self._held = b""
            self._holding = self.loop.call_later(_HOLD_SECONDS, self._go_on)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
        else:
            self._held += body
            if len(self._held) > _HOLD_BYTES:
                self._go_on()

    def on_message_complete(self) -> None:
        if self._held is not None:
            refusal = self._refusal(self._held)
            if refusal:
                self._let_go()
                self._write(refusal)
                return
            self._go_on()
        super().on_message_complete()

    def shutdown(self) -> None:
        if self._held is not None:
            self._go_on()
        super().shutdown()

    def _may_be_refused(self) -> bool:
        if len(self.tasks) < _MANY or self.parser.get_method() != b"POST":
            return False
        first = self.cycle is None or self.cycle.response_complete  # of those that came one after the other
        stays = self.parser.get_http_version() == "1.1" and self.parser.should_keep_alive()
        return first and stays and not self.expect_100_continue and not self.parser.should_upgrade()

    def _refusal(self, body: bytes) -> Response | None:
        scope = cast(dict[str, Any], self.scope)
        scope["method"] = "POST"
        scope["raw_path"], _, scope["query_string"] = self.url.partition(b"?")
        return self.refuse(scope, body)

    def _go_on(self) -> None:
        """As if the request had not been held."""
        body = self._let_go()
        if body is not None and not self.transport.is_closing():
            super().on_headers_complete()
            if body:
                super().on_body(body)

    def _let_go(self) -> bytes | None:
        body, self._held = self._held, None
        if self._holding:
            self._holding.cancel()
            self._holding = None
        return body

    def _write(self, answer: Response) -> None:
        lines = [name + b": " + value for name, value in (*self.server_state.default_headers, *answer.raw_headers)]
        head = STATUS_LINE[answer.status_code] + b"\r\n".join(lines)
        self.transport.write(head + b"\r\n\r\n" + bytes(answer.body))
        self.on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        # to close would be to wait until all that was written is taken
        self._stalled = self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_stalled()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_stalled()
        self._let_go()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _stop_stalled(self) -> None:
        if self._stalled:
            self._stalled.cancel()
            self._stalled = None


def seconds_unread(transport: asyncio.Transport) -> float:
    """How long the last that came over a connection has been waiting to be read; 0 where the system does not say."""
    if sys.platform != "linux" or (descriptor := transport.get_extra_info("socket").fileno()) < 0:
        return 0.0
    # named, or it asks the system what they are
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, descriptor)
    try:
        milliseconds: int
        (milliseconds,) = _LAST_RECEIVED.unpack(
            connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_RECEIVED.size)
        )
        return milliseconds / 1000
    except (OSError, struct.error):
        return 0.0
    finally:
        connection.detach()


def protocol_of(seconds: float, refuse: Refuse) -> type[Protocol]:
    """The protocol with a time of its own, as uvicorn makes one instance a connection without arguments of ours."""
    attributes: dict[str, Any] = {"seconds": seconds, "refuse": staticmethod(refuse)}
    return type("Protocol", (Protocol,), attributes)
