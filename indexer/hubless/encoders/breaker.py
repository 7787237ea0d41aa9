"""A circuit breaker: who fails again and again is left alone for a while, and then tried once."""

import threading
from collections.abc import Callable
from time import monotonic


class Breaker:
    """Closed at first; open after some failures in a row, for some seconds; then one call is let through.

    Parameters
    ----------
    failures : in a row, that open it
    seconds : that it stays open
    clock : for tests
    """

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closes = 0.0  # when the next call is let through, while it is open

    @property
    def is_open(self) -> bool:
        """Whether calls are held back, but for one now and then."""
        return self._failures >= self._most

    def allows(self) -> bool:
        """Whether a call may be made now. One that may while it is open is the only one until its outcome is known."""
        with self._lock:
            if self._failures < self._most:
                return True
            if (now := self._clock()) < self._closes:
                return False
            self._closes = now + self._seconds
            return True

    def succeeded(self) -> bool:
        """Note a success; whether that closes it."""
        with self._lock:
            was_open = self._failures >= self._most
            self._failures = 0
            return was_open

    def failed(self) -> bool:
        """Note a failure; whether that opens it."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._closes = self._clock() + self._seconds
            return self._failures == self._most
