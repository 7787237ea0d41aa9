"""The deadline of work: callers set it around their work. Calls of engines, and decoders of pictures, obey it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_ENDS: ContextVar[float | None] = ContextVar("ends", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what obeys deadlines inside, in this thread, end in so many seconds. An earlier deadline holds on."""
    ends = monotonic() + seconds
    known = _ENDS.get()
    token = _ENDS.set(ends if known is None else min(known, ends))
    try:
        yield
    finally:
        _ENDS.reset(token)


def left(otherwise: float) -> float:
    """Return how many seconds are left, 0 if none; without a deadline the number given."""
    ends = _ENDS.get()
    return otherwise if ends is None else max(0.0, ends - monotonic())
