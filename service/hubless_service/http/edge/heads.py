"""Checks of a head: small enough, for one host, and clear about where its body ends."""

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from hubless_service.http.problems import HttpProblem
from hubless_service.settings import Settings

Headers = list[tuple[bytes, bytes]]

FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""Headers of a proxy that say for whom it asks."""
_LINE_BYTES = len(b": \r\n")
# a name, an IPv4 or a bracketed IPv6 address, and perhaps a port; also nothing (RFC 9110, 7.2)
_HOST = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


def malformed(detail: str) -> HttpProblem:
    """Return the answer to bytes that are no request."""
    return HttpProblem("malformed_request", detail)


def too_large(settings: Settings) -> HttpProblem:
    """Return the answer to a head beyond the limits."""
    detail = f"The head of a request may have {settings.max_head_bytes} bytes and {settings.max_headers} headers."
    return HttpProblem("head_too_large", detail)


def problem_of(version: str, url: bytes, headers: Headers, settings: Settings) -> HttpProblem | None:
    """Return what is wrong with a head that the parser takes; None if it is fine.

    Sources: RFC 9112, 3.2 (Host), 6.1 (Transfer-Encoding); RFC 3986, 2.1 (percent-encoding).
    """
    size, hosts, codings = len(url), list[bytes](), list[bytes]()
    for name, value in headers:
        size += len(name) + len(value) + _LINE_BYTES
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value.lower())
    if size > settings.max_head_bytes or len(headers) > settings.max_headers:
        return too_large(settings)
    if version == "0.9":
        return malformed("version: expected HTTP/1.1 or HTTP/1.0, got none")
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        return malformed(f"host: expected one header, got {len(hosts)}")
    if hosts and not _is_host(hosts[0]):
        return malformed("host: expected a name or an address, and perhaps a port")
    if codings and (codings != [b"chunked"] or version == "1.0"):
        return malformed("transfer-encoding: expected chunked, in HTTP/1.1")
    try:  # the parser takes no other characters than those of ASCII
        unquote_to_bytes(url.partition(b"?")[0]).decode() if b"%" in url else None
    except UnicodeDecodeError:
        return malformed("path: expected UTF-8")
    return None


def without_upgrade(method: bytes, version: str, url: bytes, headers: Headers) -> bytes:
    """Return the head once more, without the header `Upgrade`: a server may ignore it (RFC 9110, 7.8)."""
    lines = [method + b" " + url + b" HTTP/" + version.encode()]
    lines += [name + b": " + value for name, value in headers if name != b"upgrade"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


@lru_cache(256)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None
