"""A circuit breaker: after repeated failures no call is made for a while; then one call tries again."""

import threading
from collections.abc import Callable
from time import monotonic


class Breaker:
    """Starts closed. Failures in a row open it for some seconds. Then it lets one call through.

    Parameters
    ----------
    failures : number in a row that opens it
    seconds : time that it stays open
    clock : seconds; tests give their own
    """

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closes = 0.0  # while it is open: when it lets the next call through

    @property
    def is_open(self) -> bool:
        """Whether it holds calls back, but for single tries."""
        return self._failures >= self._most

    def allows(self) -> bool:
        """Return whether a call may be made now. While open, it allows one call and waits for its outcome."""
        with self._lock:
            if self._failures < self._most:
                return True
            if (now := self._clock()) < self._closes:
                return False
            self._closes = now + self._seconds
            return True

    def succeeded(self) -> bool:
        """Note a success. Return whether that closes it."""
        with self._lock:
            was_open = self._failures >= self._most
            self._failures = 0
            return was_open

    def failed(self) -> bool:
        """Note a failure. Return whether that opens it."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._closes = self._clock() + self._seconds
            return self._failures == self._most
