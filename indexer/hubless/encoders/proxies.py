"""The proxy by which an endpoint is reached, as the usual environment variables have it."""

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_for(url: str) -> str | None:
    """The proxy of `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY` for a URL; None for this machine and for `NO_PROXY`.

    httpx reads them by itself only where it is given no transport.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_here(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy and (proxy if "://" in proxy else f"http://{proxy}")


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
