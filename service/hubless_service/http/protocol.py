"""HTTP over a connection, for clients that send or take slowly: uvicorn waits for them for ever."""

import asyncio
import socket
import struct
import sys
from time import perf_counter
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hubless_service.http.trace import ARRIVED

_MANY = 16  # requests that are being answered: then this one may have waited to be read
_LAST_RECEIVED = struct.Struct("52xI")  # milliseconds, in Linux's `struct tcp_info`


class Protocol(HttpToolsProtocol):
    """Closes a connection that has not sent the whole head of a request in time, or takes none of a long answer.

    Between requests uvicorn's own keep-alive timeout holds; how long a body may take, the app decides.
    """

    seconds = 20.0
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
        super().on_headers_complete()

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
    # with its kind named, or it asks the system what that is
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


def protocol_of(seconds: float) -> type[Protocol]:
    """The protocol with a time of its own, as uvicorn makes one instance a connection without arguments of ours."""
    attributes: dict[str, Any] = {"seconds": seconds}
    return type("Protocol", (Protocol,), attributes)
