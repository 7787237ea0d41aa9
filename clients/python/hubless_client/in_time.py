"""httpx's clients with one deadline an attempt. httpx limits each read alone, so a server that drips would escape."""

import asyncio
from contextvars import ContextVar
from time import monotonic
from typing import Any

import httpx

_PIECE = 2**16
"""Bytes of one write. Between two of them the clock is looked at."""
_LATE = "the whole answer took too long"
_ends: ContextVar[float] = ContextVar("ends")


class TimedClient(httpx.Client):
    """Sends requests, each attempt within the longest of its timeouts. A transport of the caller's has its own."""

    def __init__(self, *, proxy: Any, verify: Any, limits: Any, transport: Any, **arguments: Any) -> None:
        ours = transport or _InTime(proxy=proxy, verify=verify, limits=limits, trust_env=False)
        super().__init__(transport=ours, **arguments)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Raises `httpx.ReadTimeout` if the whole answer is not there in time."""
        token = _ends.set(monotonic() + _seconds(request))
        try:
            return super().send(request, **options)
        finally:
            _ends.reset(token)


class AsyncTimedClient(httpx.AsyncClient):
    """The same for tasks."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Raises `httpx.ReadTimeout` if the whole answer is not there in time."""
        seconds = _seconds(request)
        if seconds == float("inf"):
            return await super().send(request, **options)
        # connecting ends by its own timeout: httpcore would leave the connection open if it were cancelled
        connecting = request.extensions["timeout"]["connect"]
        try:
            async with asyncio.timeout(connecting + seconds):
                return await super().send(request, **options)
        except TimeoutError as error:
            raise httpx.ReadTimeout(_LATE, request=request) from error


def _seconds(request: httpx.Request) -> float:
    """The longest timeout of a request; without a limit if one step has none."""
    steps = [request.extensions["timeout"][step] for step in ("connect", "write", "read")]
    return float("inf") if None in steps else max(steps)


class _InTime(httpx.HTTPTransport):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
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
    """A connection of which each step gets what is left of the attempt's time."""

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


def _left(timeout: float | None) -> float | None:
    left = _ends.get(float("inf")) - monotonic()
    if left <= 0:
        raise httpx.ReadTimeout(_LATE)
    return timeout if left == float("inf") else left if timeout is None else min(timeout, left)
