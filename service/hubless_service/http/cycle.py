"""A request as our own server has it, which says at once what ASGI says by messages. Stands on uvicorn's cycle."""

from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from hubless_service.http.watch import Watch

Headers = list[tuple[bytes, bytes]]


class Cycle(RequestResponseCycle):
    """A request that the app answers."""

    arrived: float  # when the head was read; the request may then wait for others of its connection
    on_gone: Callable[[], object] | None = None  # called if the client hangs up before it is answered
    watch: Watch

    def whole_body(self) -> bytes | None:
        """Return the body, if all of it has come and nobody has asked for a part of it."""
        if self.more_body or self.disconnected:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.message_event.clear()
        return body

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer in one write, which costs less than messages. Nothing of a client's is in its headers."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = self.response_complete = True
        lines = [STATUS_LINE[status]]
        for name, value in (*self.default_headers, *headers):
            if name == b"connection":  # which says that it ends
                self.keep_alive = False
            else:
                lines += (name, b": ", value, b"\r\n")
        lines += (b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n", body)
        self.transport.write(b"".join(lines))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def disconnect(self) -> None:
        """Let the app know that nobody waits for its answer."""
        self.disconnected = True
        self.message_event.set()
        if self.on_gone:
            self.on_gone()
