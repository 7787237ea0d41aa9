"""What is known about the request in hand: its id, where its time went, and the code of its error."""

from time import perf_counter
from types import TracebackType

from starlette.requests import HTTPConnection

SCOPE_KEY = "hubless.trace"
ARRIVED = "hubless.arrived"
"""In the scope, when the head of the request was there: under load it is read later, and the app called later still."""
STAGES = ("parse", "queue", "encode", "filter", "search", "rescore", "payload", "serialise")


class Trace:
    """Filled while the request is answered, read by the middleware when it has been."""

    __slots__ = ("code", "intervals", "late", "request_id", "seconds", "started")

    def __init__(self, request_id: str, started: float | None = None) -> None:
        self.request_id = request_id
        now = perf_counter()
        self.started = now if started is None else started
        self.late = now - self.started
        """Seconds that the request waited before anything was done for it."""
        self.seconds: dict[str, float] = {}
        self.intervals: list[tuple[str, float, float]] = []
        self.code: str | None = None

    def add(self, stage: str, seconds: float) -> None:
        """Count time that has just passed to a stage, which may be entered several times."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        now = perf_counter()
        self.intervals.append((stage, now - seconds, now))

    def stage(self, name: str) -> "Stage":
        """Count the time of a with-block to a stage."""
        return Stage(self, name)


class Stage:
    """The with-block of one stage; a class because it is entered six times a request."""

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
    """The trace that the middleware gave to this request."""
    trace: Trace = connection.scope[SCOPE_KEY]
    return trace
