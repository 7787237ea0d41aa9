"""The two clients. They differ only in how they send a call."""

from types import TracebackType
from typing import Self, TypeVar

import httpx
from httpx_retries import aretry_request, retry_request

from hubless_client.aliases import AliasMethods
from hubless_client.bank import BankMethods
from hubless_client.call import Call, Timeout
from hubless_client.collection import CollectionMethods
from hubless_client.connection import DEFAULT_TIMEOUT, DEFAULT_URL, check_open, httpx_arguments
from hubless_client.failures import failures_translated, without_password
from hubless_client.hubness import HubnessMethods
from hubless_client.insights import InsightMethods
from hubless_client.probes import ProbeMethods
from hubless_client.reading import ReadMethods
from hubless_client.retries import DEFAULT_RETRIES, ONCE, Retries, policy_of
from hubless_client.searching import SearchMethods
from hubless_client.sending import AsyncSender, Sender
from hubless_client.versions import VersionMethods
from hubless_client.writing import WriteMethods

T = TypeVar("T")


class Methods(
    SearchMethods,
    ReadMethods,
    WriteMethods,
    BankMethods,
    CollectionMethods,
    HubnessMethods,
    InsightMethods,
    VersionMethods,
    AliasMethods,
    ProbeMethods,
):
    """One for each endpoint of the server."""


class Client(Methods, Sender):
    """Asks a hubless server, and waits for its answers. Threads may share a client. It keeps its connections open.

    Every method takes `timeout`, which replaces the client's for this call, and every method but `scroll` takes
    `request_id`, sent as X-Request-ID.

    Parameters
    ----------
    base_url : of the server; it may have a path
    api_key : sent as `Authorization: Bearer`
    timeout : seconds, or an httpx.Timeout; it limits each step of an attempt, not the whole call
    retries : when and how often the client sends a request again
    transport : an httpx transport to use instead of the network and the proxies of the environment; the client does
        not close it

    Raises
    ------
    ClientError : the base of all errors of all methods; `hubless_client.errors` draws the tree
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
        self._retry = policy_of(retries)
        with failures_translated():
            self._http = httpx.Client(**httpx_arguments(base_url, api_key, timeout, transport))

    def close(self) -> None:
        """Close the connections of this client."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({without_password(self._http.base_url)!r})"

    def _send(self, call: Call[T]) -> T:
        check_open(self._http)
        retry = ONCE if call.is_probe else self._retry
        with failures_translated():
            response = retry_request(self._http, call.method, call.path, retry=retry, **call.for_httpx())
        return call.result(response)


class AsyncClient(Methods, AsyncSender):
    """Asks a hubless server as `Client` does; its methods are coroutines. Use it within one event loop."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retry = policy_of(retries)
        with failures_translated():
            self._http = httpx.AsyncClient(**httpx_arguments(base_url, api_key, timeout, transport))

    async def close(self) -> None:
        """Close the connections of this client."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({without_password(self._http.base_url)!r})"

    async def _send(self, call: Call[T]) -> T:
        check_open(self._http)
        retry = ONCE if call.is_probe else self._retry
        with failures_translated():
            response = await aretry_request(self._http, call.method, call.path, retry=retry, **call.for_httpx())
        return call.result(response)
