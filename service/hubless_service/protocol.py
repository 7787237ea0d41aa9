"""HTTP over a connection, for clients that send slowly: uvicorn waits for the head of a request for ever."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Protocol(HttpToolsProtocol):
    """Closes a connection that has not sent the whole head of a request in time.

    Between requests uvicorn's own keep-alive timeout holds; how long a body may take, the app decides.
    """

    seconds = 20.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_head()

    def on_message_begin(self) -> None:
        self._expect_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def protocol_of(seconds: float) -> type[Protocol]:
    """The protocol with a time of its own, as uvicorn makes one instance a connection without arguments of ours."""
    attributes: dict[str, Any] = {"seconds": seconds}
    return type("Protocol", (Protocol,), attributes)
