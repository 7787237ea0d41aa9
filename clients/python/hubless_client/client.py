"""The two clients: they send the calls of `endpoints`, and do nothing else."""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from importlib.metadata import version
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, get_args

import httpx
from httpx_retries import Retry, aretry_request, retry_request

from hubless_client import endpoints
from hubless_client.call import Call, Timeout
from hubless_client.errors import CannotSend
from hubless_client.problems import httpx_errors_translated
from hubless_client.results import Point
from hubless_client.retries import DEFAULT_RETRIES, NO_RETRIES, Retries

P = ParamSpec("P")
T = TypeVar("T")

SCROLL_LIMIT = 500
"""Targets in a page of a scroll: few requests, and answers of moderate size."""
DEFAULT_URL = "http://127.0.0.1:8000"
# A server that is there accepts within seconds; a large batch may take it longer to answer.
DEFAULT_TIMEOUT = httpx.Timeout(30.0, connect=5.0)


def _present(method: Any, endpoint: Callable[..., Call[Any]]) -> None:
    # help() and editors are to show the endpoint's parameters; functools.wraps would lose the first one, as it is
    # taken for self, and would promise a Call.
    signature = inspect.signature(endpoint)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    (result,) = get_args(signature.return_annotation)
    method.__name__ = endpoint.__name__
    method.__doc__ = endpoint.__doc__
    method.__signature__ = signature.replace(
        parameters=[this, *signature.parameters.values()], return_annotation=result
    )


def _sends(endpoint: Callable[P, Call[T]]) -> Callable[Concatenate["Client", P], T]:
    def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._send(endpoint(*args, **kwargs))

    _present(method, endpoint)
    return method


def _sends_async(
    endpoint: Callable[P, Call[T]],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, T]]:
    async def method(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._send(endpoint(*args, **kwargs))

    _present(method, endpoint)
    return method


class Client:
    """A hubless server, asked synchronously. Threads may share one; it keeps connections open between calls.

    Parameters
    ----------
    base_url : where the server is; a path in it is kept
    api_key : sent as `Authorization: Bearer`
    timeout : seconds, or an httpx.Timeout; of each step of an attempt, not of the call with its retries
    retries : when and how often a request is sent again
    transport : an httpx transport to use in the place of a network of its own; stays open, it is the caller's

    Every method is an endpoint, described in `hubless_client.endpoints`.

    Raises
    ------
    HublessError : every error of every method; `hubless_client.errors` draws the tree
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retry = retries.policy()
        with httpx_errors_translated():
            self._http = httpx.Client(
                base_url=base_url,
                headers=_headers(api_key),
                timeout=timeout,
                transport=transport and _Lent(transport),
            )

    collections = _sends(endpoints.collections)
    """The collections that the server serves."""
    collection = _sends(endpoints.collection)
    """One collection: its version, size, dimension, correction, index and measured quality."""
    query = _sends(endpoints.query)
    """The best targets for a vector, for a text, or like another target."""
    query_batch = _sends(endpoints.query_batch)
    """The best targets for each of many vectors or queries, in one request."""
    hubness = _sends(endpoints.hubness)
    """How hubby the answers are that a collection gives."""
    point = _sends(endpoints.point)
    """One target: its offset, its payload, and its vector if asked for."""
    points = _sends(endpoints.points)
    """Several targets in the order of their ids."""
    scroll_page = _sends(endpoints.scroll_page)
    """One page of all targets, or of those that pass a filter."""
    count = _sends(endpoints.count)
    """The number of targets."""
    versions = _sends(endpoints.versions)
    """All versions of a collection, and what became of them."""
    activate = _sends(endpoints.activate)
    """Serve another version."""
    aliases = _sends(endpoints.aliases)
    """Other names of collections."""
    alias = _sends(endpoints.alias)
    """What an alias stands for."""
    set_alias = _sends(endpoints.set_alias)
    """Set or move an alias."""
    remove_alias = _sends(endpoints.remove_alias)
    """Remove an alias."""
    live = _sends(endpoints.live)
    """Whether the server's process answers."""
    ready = _sends(endpoints.ready)
    """Whether the server can answer queries, and if not, why."""

    def scroll(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = SCROLL_LIMIT,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
        timeout: Timeout | None = None,
    ) -> Iterator[Point]:
        """All targets one after the other, or those that pass the filter, fetched in pages of `limit`.

        Raises
        ------
        CursorExpired : a new version has replaced the one that is scrolled through
        """
        cursor = None
        while True:
            page = self.scroll_page(
                collection,
                filter=filter,
                limit=limit,
                cursor=cursor,
                with_payload=with_payload,
                with_vector=with_vector,
                timeout=timeout,
            )
            yield from page
            if (cursor := page.cursor) is None:
                return

    def close(self) -> None:
        """Close the connections that this client opened."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        _check_open(self._http)
        with httpx_errors_translated():
            response = retry_request(
                self._http, call.method, call.path, retry=_policy(call, self._retry), **call.for_httpx()
            )
        return call.result(response)


class AsyncClient:
    """A hubless server, asked asynchronously; otherwise as `Client`. For one event loop."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retry = retries.policy()
        with httpx_errors_translated():
            self._http = httpx.AsyncClient(
                base_url=base_url,
                headers=_headers(api_key),
                timeout=timeout,
                transport=transport and _AsyncLent(transport),
            )

    collections = _sends_async(endpoints.collections)
    """The collections that the server serves."""
    collection = _sends_async(endpoints.collection)
    """One collection: its version, size, dimension, correction, index and measured quality."""
    query = _sends_async(endpoints.query)
    """The best targets for a vector, for a text, or like another target."""
    query_batch = _sends_async(endpoints.query_batch)
    """The best targets for each of many vectors or queries, in one request."""
    hubness = _sends_async(endpoints.hubness)
    """How hubby the answers are that a collection gives."""
    point = _sends_async(endpoints.point)
    """One target: its offset, its payload, and its vector if asked for."""
    points = _sends_async(endpoints.points)
    """Several targets in the order of their ids."""
    scroll_page = _sends_async(endpoints.scroll_page)
    """One page of all targets, or of those that pass a filter."""
    count = _sends_async(endpoints.count)
    """The number of targets."""
    versions = _sends_async(endpoints.versions)
    """All versions of a collection, and what became of them."""
    activate = _sends_async(endpoints.activate)
    """Serve another version."""
    aliases = _sends_async(endpoints.aliases)
    """Other names of collections."""
    alias = _sends_async(endpoints.alias)
    """What an alias stands for."""
    set_alias = _sends_async(endpoints.set_alias)
    """Set or move an alias."""
    remove_alias = _sends_async(endpoints.remove_alias)
    """Remove an alias."""
    live = _sends_async(endpoints.live)
    """Whether the server's process answers."""
    ready = _sends_async(endpoints.ready)
    """Whether the server can answer queries, and if not, why."""

    async def scroll(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = SCROLL_LIMIT,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
        timeout: Timeout | None = None,
    ) -> AsyncIterator[Point]:
        """All targets one after the other, or those that pass the filter, fetched in pages of `limit`.

        Raises
        ------
        CursorExpired : a new version has replaced the one that is scrolled through
        """
        cursor = None
        while True:
            page = await self.scroll_page(
                collection,
                filter=filter,
                limit=limit,
                cursor=cursor,
                with_payload=with_payload,
                with_vector=with_vector,
                timeout=timeout,
            )
            for point in page:
                yield point
            if (cursor := page.cursor) is None:
                return

    async def close(self) -> None:
        """Close the connections that this client opened."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        _check_open(self._http)
        with httpx_errors_translated():
            response = await aretry_request(
                self._http, call.method, call.path, retry=_policy(call, self._retry), **call.for_httpx()
            )
        return call.result(response)


class _Lent(httpx.BaseTransport):
    """The caller's transport, which is the caller's to close."""

    def __init__(self, transport: httpx.BaseTransport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._transport.handle_request(request)


class _AsyncLent(httpx.AsyncBaseTransport):
    """The caller's transport, which is the caller's to close."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._transport.handle_async_request(request)


def _headers(api_key: str | None) -> dict[str, str]:
    headers = {
        "Accept": "application/json, application/problem+json",
        "User-Agent": f"hubless-client/{version('hubless-client')} python-httpx/{httpx.__version__}",
    }
    if api_key is None:
        return headers
    if not (api_key.isascii() and api_key.isprintable()):
        # Sending it would fail too, with an error that quotes it.
        raise CannotSend("api_key: expected printable ASCII; it may end in a line break")
    return {**headers, "Authorization": f"Bearer {api_key}"}


def _check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    if http.is_closed:
        raise CannotSend("the client is closed")


def _policy(call: Call[Any], policy: Retry) -> Retry:
    return NO_RETRIES.policy() if call.read_503 else policy
