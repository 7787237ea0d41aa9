"""Calls of Milvus: each with a timeout, and with errors that say in a line what is wrong."""

import logging
import os
import time
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from hubless.deadline import left
from hubless.errors import EngineError, EngineTimeout, EngineUnavailable, InputError, one_line
from hubless_milvus.server import TOKEN, Server

SECONDS = 10.0
"""For a call without a deadline."""
LEAST = 0.001
"""With less time left, Milvus is not asked."""
NOT_FOUND = 100
"""Milvus' code for a collection or an alias that is not there."""
NOT_LOADED = 101
_CONNECT_FAILED = 2
_CHANNEL = {
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2000,
    "grpc.keepalive_time_ms": 300_000,
    "grpc.keepalive_permit_without_calls": 0,
}
"""gRPC would wait for up to two minutes before it looks whether a server is back. And pymilvus would ping the server
every ten seconds. Servers and proxies with gRPC's usual limits break the connection for more than one in five minutes.
A lost connection is found all the same: the kernel gives up what nobody has received in five seconds."""
ATTEMPTS, PAUSE_SECONDS = 6, 1.0
"""Of a call that is made again, and the pause after the first one; it doubles."""
_Given = TypeVar("_Given")
_REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class Refused(EngineError):
    """Milvus refuses what was asked. `number` is its code."""

    def __init__(self, reason: str, number: int) -> None:
        super().__init__(reason)
        self.number = number


class Client:
    """A connection to Milvus. Threads may share it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._pymilvus: Any = None
        self._connecting = Lock()

    def call(self, method: str, *args: Any, seconds: float | None = None, **named: Any) -> Any:
        """Return the result of a method of `pymilvus.MilvusClient`.

        `seconds`: that it may take; None for what is left of the deadline. Raises `EngineUnavailable`, `EngineTimeout`,
        `Refused`.
        """
        timeout = left(SECONDS) if seconds is None else min(seconds, left(seconds))
        if timeout < LEAST:
            raise EngineTimeout(f"Milvus at {self.server.uri} was not asked, as no time is left")
        try:
            return getattr(self._connected(timeout), method)(*args, timeout=timeout, **named)
        except Exception as error:
            raise self._as_ours(error) from error

    def _connected(self, timeout: float) -> Any:
        if self._pymilvus is not None:
            return self._pymilvus
        if not self._connecting.acquire(timeout=timeout):
            raise EngineTimeout(f"Milvus at {self.server.uri} did not answer in time")
        try:
            if self._pymilvus is None:
                self._pymilvus = _connect(self.server, timeout)
            return self._pymilvus
        finally:
            self._connecting.release()

    def _as_ours(self, error: Exception) -> EngineError:
        from grpc import RpcError, StatusCode
        from pymilvus import MilvusException

        where = f"Milvus at {self.server.uri}"
        if isinstance(error, EngineError):
            return error
        code = error.code() if isinstance(error, RpcError) else getattr(error, "code", None)
        if code is StatusCode.DEADLINE_EXCEEDED:
            return EngineTimeout(f"{where} did not answer in time")
        if code is StatusCode.UNAVAILABLE or code == _CONNECT_FAILED:
            return EngineUnavailable(f"{where} cannot be reached")
        said = one_line(Exception(error.message)) if isinstance(error, MilvusException) else one_line(error)
        if isinstance(code, StatusCode):
            said = error.details() if isinstance(error, RpcError) else said
            if code.name in _REFUSED:
                return Refused(f"{where} refuses the login; {TOKEN} holds user:password or a key", -1)
        if "timeout" in said.lower() and not isinstance(code, StatusCode):
            return EngineTimeout(f"{where} did not answer in time")
        return Refused(f"{where} says: {said.rstrip('.')}", code if isinstance(code, int) else -1)


def client_of(server: Server) -> Client:
    """The connection to a server; one for all threads of a process."""
    return _client(server, os.getpid())


@cache
def _client(server: Server, process: int) -> Client:
    return Client(server)


def _connect(server: Server, timeout: float) -> Any:
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise InputError("engine", "an installed pymilvus: pip install pymilvus", "none") from error
    # it logs each error with its traceback; we raise each
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    # dedicated: pymilvus would share one connection, with the options of whoever connected first
    client = MilvusClient(
        server.uri,
        token=server.token,
        db_name=server.database,
        timeout=timeout,
        grpc_options=dict(_CHANNEL),
        dedicated=True,
    )
    # At an error pymilvus would connect anew, one thread after another, each beyond its own time. The channel
    # connects by itself, so the error is passed on at once.
    client._get_connection()._on_rpc_error = _passed_on
    return client


def _passed_on(error: Exception) -> bool:
    from grpc import RpcError

    if isinstance(error, RpcError):
        raise error
    return False


def again(call: Callable[[], _Given]) -> _Given:
    """Return the result of a call; call again if Milvus does not answer.

    Raises `EngineUnavailable`, `EngineTimeout` at the last attempt.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return call()
        except (EngineUnavailable, EngineTimeout):
            time.sleep(PAUSE_SECONDS * 2**attempt)
    return call()
