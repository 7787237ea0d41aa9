"""The way to the server: settings for httpx.Client and httpx.AsyncClient alike."""

from importlib.metadata import version
from typing import Any

import httpx

from hubless_client.call import Timeout, checked_timeout
from hubless_client.errors import CannotSend

DEFAULT_URL = "http://127.0.0.1:8000"
# A server that is there accepts within seconds. It may take longer to answer a large batch.
DEFAULT_TIMEOUT = httpx.Timeout(30.0, connect=5.0)


def httpx_arguments(base_url: str, api_key: str | None, timeout: Timeout, transport: Any) -> dict[str, Any]:
    """The arguments of httpx's clients.

    Raises
    ------
    CannotSend : no header can carry the key, or an argument is of another type
    """
    if not isinstance(base_url, str | httpx.URL):
        raise CannotSend(f"base_url: expected a URL, got {type(base_url).__name__}")
    return {
        "base_url": base_url,
        "headers": _headers(api_key),
        "timeout": checked_timeout(timeout),
        "transport": transport and _Lent(transport),
    }


def check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    """Refuse to send with a client that is closed.

    Raises
    ------
    CannotSend : it is closed
    """
    if http.is_closed:
        raise CannotSend("the client is closed")


def _headers(api_key: str | None) -> dict[str, str]:
    headers = {
        "Accept": "application/json, application/problem+json",
        "User-Agent": f"hubless-client/{version('hubless-client')} python-httpx/{httpx.__version__}",
    }
    if api_key is None:
        return headers
    if not isinstance(api_key, str) or not (api_key.isascii() and api_key.isprintable()):
        # httpx would refuse it too, with an error that quotes it.
        raise CannotSend("api_key: expected printable ASCII, got something else; it may end in a line break")
    return {**headers, "Authorization": f"Bearer {api_key}"}


class _Lent(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The caller's transport, sync or async. Only the caller closes it."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = self._transport.handle_request(request)
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = await self._transport.handle_async_request(request)
        return response
