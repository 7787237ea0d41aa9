"""The deadline holds for a whole HTTP call. httpx limits each read alone, so a server that drips would escape."""

from math import inf
from typing import Any

import httpx

from hubless.deadline import left

_PIECE = 2**16
"""Bytes of one write. Between two of them the clock is looked at."""


def _left(timeout: float | None) -> float | None:
    """Return the seconds that one step may take."""
    seconds = min(left(inf), inf if timeout is None else timeout)
    if not seconds:
        # not one of connecting, after which a call is tried again
        raise httpx.ReadTimeout("the whole call took too long")
    return None if seconds == inf else seconds


class InTime(httpx.HTTPTransport):
    """A transport that obeys the deadline: late, it raises `httpx.TimeoutException`. Arguments are those of httpx's.

    The time is for all steps and attempts together: to connect, to send, and to read the head and the body.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(trust_env=False, **options)
        # httpcore takes a backend of ours; httpx has no argument that passes it on
        pool: Any = self._pool
        pool._network_backend = _Backend(pool._network_backend)


class _Backend:
    """Opens connections as another one does, each of them in time."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> "_Stream":
        return _Stream(self._backend.connect_tcp(host, port, timeout=_left(timeout), **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    """A connection of which each step gets what is left of the call's time."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        part: bytes = self._stream.read(max_bytes, _left(timeout))
        return part

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], _left(timeout))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
