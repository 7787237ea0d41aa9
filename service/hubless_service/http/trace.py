"""A request, as all rooms know it: its head, its body, its id, where its time went, and the code of its error."""

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar, cast

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

_T = TypeVar("_T")
Headers = list[tuple[bytes, bytes]]
SCOPE_KEY = "hubless.trace"
STAGES = ("parse", "queue", "encode", "filter", "search", "rescore", "payload", "serialise")


def heads_of(headers: Headers) -> dict[bytes, bytes]:
    """Return headers by their names: of several the first."""
    return dict(reversed(headers))


class Trace:
    """Filled while a request is answered; then the observer reads it. Our own server's is an `Exchange`."""

    disconnected = alone = False
    """True if the client hung up; if this process is known to answer no other request now."""

    def __init__(
        self,
        request_id: str = "",
        scope: Scope | None = None,
        heads: dict[bytes, bytes] | None = None,
        receive: Receive | None = None,
    ) -> None:
        self.started = perf_counter()
        self.scope: Scope = scope or {}
        self.heads = heads or {}
        self._receive = receive
        self.late = 0.0  # seconds that it waited for requests before it
        self.request_id = request_id
        self.seconds: dict[str, float] = {}
        self.intervals: list[tuple[str, float, float]] | None = None
        self.code: str | None = None
        self.pixels = 0  # of all pictures that came with it
        self.on_gone: Callable[[], object] | None = None  # called if the client hangs up before it is answered

    async def receive(self) -> Message:
        """Return the next part of the body, as ASGI has it."""
        return await cast(Receive, self._receive)()

    def whole_body(self) -> bytes | None:
        """Return the body, if all of it has come and nobody has asked for a part of it."""
        return None

    def add(self, stage: str, seconds: float) -> None:
        """Count time that has just passed to a stage. Times of one stage add up."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        if self.intervals is not None:
            now = perf_counter()
            self.intervals.append((stage, now - seconds, now))


async def unless_gone(trace: Trace, future: "asyncio.Future[_T]") -> _T:
    """Return the result of a future. When the client hangs up it is cancelled, and `ClientDisconnect` is raised."""
    if trace.disconnected:
        future.cancel()
    trace.on_gone = future.cancel
    try:
        return await future
    except asyncio.CancelledError as error:
        if trace.disconnected:
            raise ClientDisconnect from error
        raise
    finally:
        trace.on_gone = None
