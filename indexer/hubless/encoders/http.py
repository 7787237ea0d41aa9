"""The one way to a server over HTTP: by the proxy that the environment names, and to this machine by none."""

import os
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from hubless.errors import InputError

if TYPE_CHECKING:
    import httpx

    from hubless.encoders.in_time import InTime

WEB_SCHEMES = ("http", "https")
_PROXIES = (*WEB_SCHEMES, "socks5", "socks5h")
_SYSTEM = "the settings of this system"
_TRUSTED = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of certificates to trust, in the order in which httpx looks at them."""


@dataclass(frozen=True)
class Proxy:
    """A proxy, and the environment variable that names it. The address may hold a password, so it is not shown."""

    variable: str
    address: str = field(repr=False)

    def __str__(self) -> str:
        return f"the proxy {_shown(self.address)} of {self.variable}"


def http_transport(name: str, url: str, limits: "httpx.Limits") -> "InTime":
    """Return httpx's way to one server, which keeps to the deadline of `within`. `name` is what the URL is called.

    Raises `InputError` naming the URL, or the variable of the environment, that is wrong.
    """
    from hubless.encoders.in_time import InTime  # httpx takes a tenth of a second

    proxy = proxy_of(url)
    is_encrypted = "https" in (urlsplit(checked_url(name, url)).scheme, proxy and urlsplit(proxy.address).scheme)
    verify = _certificates() if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # the proxy and the certificates are those that errors name
    return InTime(proxy=None if proxy is None else proxy.address, verify=verify, limits=limits)


def checked_url(name: str, url: str) -> str:
    """Return a URL without the slashes at its end. Raises `InputError` if it has another form."""
    expected = "http:// or https:// and a host"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InputError(name, expected, f"{_shown(url)} ({error})") from error
    if parts.scheme not in WEB_SCHEMES or not parts.hostname:
        raise InputError(name, expected, _shown(url))
    return url.rstrip("/")


def proxy_of(url: str) -> Proxy | None:
    """Return the proxy before a server, None if it is reached directly. Raises `InputError` naming the variable."""
    parts = urlsplit(url)
    known = getproxies()
    host = parts.hostname or ""
    kind = next((kind for kind in (parts.scheme, "all") if known.get(kind)), None)
    if kind is None or is_this_machine(host) or _is_exempt(host, parts.netloc, known.get("no", "")):
        return None
    said = known[kind]
    proxy = Proxy(_variable(f"{kind}_proxy", said), said if "://" in said else f"http://{said}")
    _check(proxy)
    return proxy


def by(url: str) -> str:
    """Return the words in which an error names the proxy before a server, if there is one."""
    return "" if (proxy := proxy_of(url)) is None else f", by {proxy}"


def is_this_machine(host: str) -> bool:
    """Return True for localhost, names that end in .localhost, and addresses of the loopback."""
    name = host.lower().rstrip(".")
    address = _address(name)
    if address is None:
        return name == "localhost" or name.endswith(".localhost")
    # 0.0.0.0 is what servers listen on; to connect to it is to connect to this machine
    return address.is_loopback or address.is_unspecified


def _address(host: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        address = ip_address(host)
        return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address
    return None


def _is_exempt(host: str, netloc: str, entries: str) -> bool:
    """Return True if NO_PROXY has the server: its name, a name above it, its address, or a network like 10.0.0.0/8."""
    if proxy_bypass(netloc.rpartition("@")[2]):
        return True
    address = _address(host)
    for entry in entries.split(","):
        with suppress(ValueError):
            if address is not None and address in ip_network(entry.strip().strip("[]"), strict=False):
                return True
    return False


def _variable(name: str, value: str) -> str:
    # lower case comes first, as in urllib
    found = [each for each in sorted(os.environ, reverse=True) if each.lower() == name and os.environ[each] == value]
    return found[0] if found else _SYSTEM


def _check(proxy: Proxy) -> None:
    shown = _shown(proxy.address)
    expected = "a proxy such as http://host:port"
    try:
        parts = urlsplit(proxy.address)
        _ = parts.port
    except ValueError:
        raise InputError(proxy.variable, expected, shown) from None
    if parts.scheme not in _PROXIES or not parts.hostname:
        raise InputError(proxy.variable, expected, shown)
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        raise InputError(proxy.variable, "what SOCKS needs: pip install 'httpx[socks]'", f"{shown} without it")


def _certificates() -> ssl.SSLContext:
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as error:  # ssl.SSLError is one
        name = next((name for name in _TRUSTED if os.environ.get(name)), _TRUSTED[0])
        raise InputError(name, "readable certificates", f"{os.environ.get(name)} ({error})") from error


def _shown(address: str) -> str:
    """Return an address without user and password."""
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}".rstrip("/")
