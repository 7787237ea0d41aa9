"""How much a connection may send, and how long it may take, before the app sees a request."""

import resource
import sys
from dataclasses import dataclass

from hubless_service.settings import Settings

OTHER_DESCRIPTORS = 64
"""File descriptors that connections leave to the process: its listener, its log, files while they are opened."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of every connection, and of all of them together.

    Attributes
    ----------
    head_bytes : of the request line and the headers, together
    headers : fields in one head; trailers count too
    pipelined : requests that wait for the answer of the one before them
    connections : open at a time, in this process
    receive_seconds : for a head, for the rest of a body after an early answer, and for taking a part of an answer
    idle_seconds : from an answer to the next request
    """

    head_bytes: int
    headers: int
    pipelined: int
    connections: int
    receive_seconds: float
    idle_seconds: float


def limits_of(settings: Settings) -> ConnectionLimits:
    """The limits that the settings name; not more connections than the process has descriptors for."""
    return ConnectionLimits(
        head_bytes=settings.max_head_bytes,
        headers=settings.max_headers,
        pipelined=settings.max_pipelined,
        connections=min(settings.max_connections, max(1, _descriptors() - OTHER_DESCRIPTORS)),
        receive_seconds=settings.receive_seconds,
        idle_seconds=settings.keep_alive_seconds,
    )


def _descriptors() -> int:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if most == resource.RLIM_INFINITY else most
