"""The two clients. They differ only in how they send a call."""

import asyncio
from types import TracebackType
from typing import Self, TypeVar

import httpx
from tenacity import AsyncRetrying, Retrying

from hubless_client.aliases import AliasMethods
from hubless_client.bank import BankMethods
from hubless_client.call import Call, Timeout
from hubless_client.clicks import ClickMethods
from hubless_client.collection import CollectionMethods
from hubless_client.connection import DEFAULT_TIMEOUT, DEFAULT_URL
from hubless_client.errors import CannotSend
from hubless_client.failures import failures_translated
from hubless_client.hubness import HubnessMethods
from hubless_client.insights import InsightMethods
from hubless_client.pools import AsyncPool, Pool
from hubless_client.probes import ProbeMethods
from hubless_client.reading import ReadMethods
from hubless_client.retries import DEFAULT_RETRIES, ONCE, Retries
from hubless_client.scores import ScoreMethods
from hubless_client.searching import SearchMethods
from hubless_client.sending import AsyncSender, Sender
from hubless_client.sharing import Shared
from hubless_client.versions import VersionMethods
from hubless_client.writing import WriteMethods

T = TypeVar("T")


class Methods(
    SearchMethods,
    ReadMethods,
    WriteMethods,
    BankMethods,
    ClickMethods,
    CollectionMethods,
    HubnessMethods,
    InsightMethods,
    VersionMethods,
    AliasMethods,
    ScoreMethods,
    ProbeMethods,
):
    """One for each endpoint of the server."""


class Client(Methods, Shared, Sender):
    """Asks a hubless server, and waits for its answers. Threads may share a client. It keeps its connections open.

    Every method takes `timeout`, which replaces the client's for this call, and every method but `scroll` takes
    `request_id`, sent as X-Request-ID. At most 32 calls run at a time; others wait, which is no part of their timeout.
    A process that is forked has connections of its own. A copy, or what is made from a pickle, is another client with
    the same settings; the pickle holds the API key.

    Parameters
    ----------
    base_url : of the server; it may have a path
    api_key : sent as `Authorization: Bearer`
    timeout : seconds for an attempt, or an httpx.Timeout, which limits its steps and by its longest the attempt
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
        self._share(base_url=base_url, api_key=api_key, timeout=timeout, retries=retries, transport=transport)

    def _connect(self) -> None:
        self._pool = Pool(self._way)

    def close(self) -> None:
        """Send nothing more. The connections close when the calls that run have ended."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        retry = self._retry if call.repeats else ONCE
        with self._pool.place() as http, failures_translated(self._way.proxy):
            response = Retrying(**retry)(http.send, http.build_request(call.method, call.path, **call.for_httpx()))
        return call.result(response, self._way.proxy)


class AsyncClient(Methods, Shared, AsyncSender):
    """Asks a hubless server as `Client` does; its methods are coroutines. Each event loop has its own connections."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        retries: Retries = DEFAULT_RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._is_closed = False
        self._share(base_url=base_url, api_key=api_key, timeout=timeout, retries=retries, transport=transport)

    def _connect(self) -> None:
        self._pools: dict[asyncio.AbstractEventLoop, AsyncPool] = {}

    async def close(self) -> None:
        """Send nothing more. The connections close when the calls that run have ended."""
        self._is_closed = True
        here = self._pools.pop(asyncio.get_running_loop(), None)
        for pool in self._pools.values():
            pool.shut()
        if here is not None:
            await here.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        retry = self._retry if call.repeats else ONCE
        async with (await self._pool_here()).place() as http:
            with failures_translated(self._way.proxy):
                request = http.build_request(call.method, call.path, **call.for_httpx())
                response = await AsyncRetrying(**retry).wraps(http.send)(request)
        return call.result(response, self._way.proxy)

    async def _pool_here(self) -> AsyncPool:
        """The connections of this event loop, made by the first call in it."""
        if self._is_closed:
            raise CannotSend("the client is closed")
        loop = asyncio.get_running_loop()
        if (pool := self._pools.get(loop)) is None:
            self._pools = {other: its for other, its in self._pools.items() if not other.is_closed()}
            pool = self._pools[loop] = AsyncPool(self._way)
            await pool.begin()
        return pool
