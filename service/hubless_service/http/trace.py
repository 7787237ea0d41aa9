"""The trace of a request: its id, where its time went, and the code of its error."""

import asyncio
from time import perf_counter
from types import TracebackType
from typing import TypeVar

from starlette.requests import ClientDisconnect, HTTPConnection

T = TypeVar("T")
SCOPE_KEY = "hubless.trace"
EXCHANGE = "hubless.exchange"
"""The key in the scope of our own server's `Cycle`, which says at once what ASGI says by messages."""
REFUSAL = "hubless.refusal"
"""The key in the scope of the `HttpProblem` that answers what is no request."""
STAGES = ("parse", "queue", "encode", "filter", "search", "rescore", "payload", "serialise")


class Trace:
    """Filled while the request is answered; then the middleware reads it."""

    __slots__ = ("code", "intervals", "late", "request_id", "seconds", "started")

    def __init__(self, request_id: str, started: float | None = None, *, intervals: bool = True) -> None:
        self.request_id = request_id
        now = perf_counter()
        self.started = now if started is None else started
        self.late = now - self.started
        """Seconds that the request waited before work on it began."""
        self.seconds: dict[str, float] = {}
        self.intervals: list[tuple[str, float, float]] | None = [] if intervals else None
        """Each stage, when it began and when it ended; for spans only."""
        self.code: str | None = None

    def add(self, stage: str, seconds: float) -> None:
        """Count time that has just passed to a stage. Times of one stage add up."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        if self.intervals is not None:
            now = perf_counter()
            self.intervals.append((stage, now - seconds, now))

    def stages(self) -> list[tuple[str, float]]:
        """The stages so far and their seconds, copied at once: a search that is too late still adds to them."""
        return list(self.seconds.items())

    def stage(self, name: str) -> "Stage":
        """Count the time of a with-block to a stage."""
        return Stage(self, name)


class Stage:
    """The with-block of one stage. A class, as a generator costs more, and a request enters six."""

    __slots__ = ("name", "started", "trace")

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace = trace
        self.name = name

    def __enter__(self) -> None:
        self.started = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.trace.add(self.name, perf_counter() - self.started)


def trace_of(connection: HTTPConnection) -> Trace:
    """The trace of a request, which the middleware made."""
    trace: Trace = connection.scope[SCOPE_KEY]
    return trace


async def unless_gone(request: HTTPConnection, future: "asyncio.Future[T]") -> T:
    """The result of a future, which is cancelled when the client hangs up.

    Raises
    ------
    ClientDisconnect
    """
    exchange = request.scope.get(EXCHANGE)
    if exchange is None:  # another server than ours
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
