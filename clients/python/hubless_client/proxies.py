"""By which proxy a server is reached. The environment says it. A server on this machine is reached without one."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.request import getproxies, proxy_bypass

import httpx

from hubless_client.errors import CannotSend

_SYSTEM = "the settings of this system"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the environment variable that names it. The address may hold a password, so it is not shown."""

    variable: str
    address: str = field(repr=False)

    def __str__(self) -> str:
        return f"the proxy {_shown(self.address)} of {self.variable}"


def proxy_of(url: httpx.URL) -> Proxy | None:
    """The proxy before a server; None if it is reached directly.

    Raises
    ------
    CannotSend : the variable names no proxy, or one that needs a package that is not installed
    """
    known = getproxies()
    kind = next((kind for kind in (url.scheme, "all") if known.get(kind)), None)
    if kind is None or is_this_machine(url.host) or _is_exempt(url, known.get("no", "")):
        return None
    said = known[kind]
    proxy = Proxy(_variable(f"{kind}_proxy", said), said if "://" in said else f"http://{said}")
    _check(proxy)
    return proxy


def by(proxy: Proxy | None) -> str:
    """Return the words in which an error names the proxy of a request."""
    return "" if proxy is None else f", by {proxy}"


def is_this_machine(host: str) -> bool:
    """True for localhost, names that end in .localhost, and addresses of the loopback."""
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


def _is_exempt(url: httpx.URL, entries: str) -> bool:
    """True if NO_PROXY names the server: by its name, a name above it, its address, or a network such as 10.0.0.0/8."""
    if proxy_bypass(url.netloc.decode()):
        return True
    address = _address(url.host)
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
    try:
        parts = httpx.Proxy(proxy.address).url
    except (httpx.InvalidURL, ValueError):
        parts = httpx.URL()
    if not parts.host:
        expected = "a proxy such as http://host:port"
        raise CannotSend(f"{proxy.variable}: expected {expected}, got {_shown(proxy.address)}") from None
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        raise CannotSend(f"{proxy.variable}: {_shown(proxy.address)} needs a package: pip install 'httpx[socks]'")


def _shown(address: str) -> str:
    """An address without user and password."""
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}".rstrip("/")
