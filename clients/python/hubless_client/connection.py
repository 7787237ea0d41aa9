"""The way to the server: the one place that says how httpx is used, for both clients."""

import os
import ssl
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import httpx

from hubless_client.call import Timeout, checked_timeout
from hubless_client.errors import CannotSend
from hubless_client.proxies import Proxy, proxy_of

DEFAULT_URL = "http://127.0.0.1:8000"
# A server that is there accepts within seconds. It may take longer to answer a large batch.
DEFAULT_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
PLACES = 32
"""Calls at a time. More wait in this process; waiting is no part of their timeout."""
_TRUSTED = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of certificates to trust, in the order in which httpx looks at them."""
# Our places are the bound: a call that has one never waits for a connection.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=PLACES)


@dataclass(frozen=True, slots=True)
class Way:
    """The way to a server.

    Attributes
    ----------
    url : of the server, with its user and password
    proxy : before the server, as the environment says; None for none
    arguments : of `TimedClient` and `AsyncTimedClient` alike
    """

    url: httpx.URL
    proxy: Proxy | None
    arguments: dict[str, Any]

    @property
    def shown(self) -> str:
        """The address of the server as people may see it."""
        return without_password(self.url)


def way_to(base_url: str | httpx.URL, api_key: str | None, timeout: Timeout, transport: Any) -> Way:
    """The way to a server, by the proxy and with the certificates that the environment names.

    Raises
    ------
    CannotSend : an argument, or a variable of the environment, is not what it should be
    """
    url = _checked_url(base_url)
    proxy = None if transport else proxy_of(url)
    is_encrypted = not transport and "https" in (url.scheme, proxy and httpx.URL(proxy.address).scheme)
    arguments = {
        "base_url": url,
        "headers": _headers(api_key),
        "timeout": checked_timeout(timeout),
        "transport": transport and _Lent(transport),
        "proxy": proxy and proxy.address,
        # read here once: it takes long, and the proxy must be the one that errors name
        "verify": _certificates() if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        "trust_env": False,
        "limits": _LIMITS,
    }
    return Way(url if url.path.endswith("/") else url.copy_with(path=f"{url.path}/"), proxy, arguments)


def without_password(url: httpx.URL) -> str:
    """A URL as people may see it: without user, password and parameters."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"


def _checked_url(base_url: str | httpx.URL) -> httpx.URL:
    if not isinstance(base_url, str | httpx.URL):
        raise CannotSend(f"base_url: expected a URL, got {type(base_url).__name__}")
    shown = str(base_url).rpartition("@")[2]
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise CannotSend(f"base_url: {error}, in {shown!r:.80}") from error
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        example = "http:// or https:// with a host, such as http://127.0.0.1:8000"
        raise CannotSend(f"base_url: expected {example}, got {shown!r:.80}")
    return url


def _certificates() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # ssl.SSLError is one
        name = next((name for name in _TRUSTED if os.environ.get(name)), _TRUSTED[0])
        got = f"{os.environ.get(name)} ({error})"
        raise CannotSend(f"{name}: expected readable certificates, got {got}") from error


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
