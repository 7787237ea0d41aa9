"""The trace of a request: its id, where its time went, and the code of its error."""

import asyncio
from time import perf_counter
from typing import TypeVar

from starlette.requests import ClientDisconnect

from hubless_service.http.cycle import Cycle

_T = TypeVar("_T")
SCOPE_KEY = "hubless.trace"
EXCHANGE = "hubless.exchange"
"""The key in the scope of our own server's `Cycle`."""
REFUSAL = "hubless.refusal"
"""The key in the scope of the `HttpProblem` that answers what is no request."""
STAGES = ("parse", "queue", "encode", "filter", "search", "rescore", "payload", "serialise")


class Trace:
    """Filled while the request is answered; then the middleware reads it."""

    __slots__ = ("code", "exchange", "intervals", "late", "pixels", "request_id", "seconds", "started")

    def __init__(self, request_id: str, exchange: Cycle | None = None, *, intervals: bool = True) -> None:
        self.request_id = request_id
        self.exchange = exchange
        now = perf_counter()
        self.started = now if exchange is None else exchange.arrived
        self.late = now - self.started
        self.seconds: dict[str, float] = {}
        self.intervals: list[tuple[str, float, float]] | None = [] if intervals else None
        self.code: str | None = None
        self.pixels = 0  # of all pictures that came with it

    @property
    def alone(self) -> bool:
        """Return True if this process is known to answer no other request now."""
        return self.exchange is not None and self.exchange.watch.busy <= 1

    def add(self, stage: str, seconds: float) -> None:
        """Count time that has just passed to a stage. Times of one stage add up."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        if self.intervals is not None:
            now = perf_counter()
            self.intervals.append((stage, now - seconds, now))


async def unless_gone(trace: Trace, future: "asyncio.Future[_T]") -> _T:
    """Return the result of a future. When the client hangs up it is cancelled, and `ClientDisconnect` is raised."""
    exchange = trace.exchange
    if exchange is None:
        return await future
    if exchange.disconnected:
        future.cancel()
    exchange.on_gone = future.cancel
    try:
        return await future
    except asyncio.CancelledError as error:
        if exchange.disconnected:
            raise ClientDisconnect from error
        raise
    finally:
        exchange.on_gone = None
