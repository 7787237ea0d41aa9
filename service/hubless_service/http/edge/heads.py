"""What a head must be: small enough, for one host, and clear about where its body ends."""

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from hubless_service.http.edge.limits import ConnectionLimits
from hubless_service.http.problems import HttpProblem

Headers = list[tuple[bytes, bytes]]

Fields = dict[bytes, bytes]

FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""Headers of a proxy that say for whom it asks."""
_NOT_PLAIN = FORWARDED | {b"transfer-encoding"}
_LINE_BYTES = len(b": \r\n")
# a name, an IPv4 or a bracketed IPv6 address, and perhaps a port; also nothing (RFC 9110, 7.2)
_HOST = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


def malformed(detail: str) -> HttpProblem:
    """The answer to bytes that are no request."""
    return HttpProblem("malformed_request", detail)


def too_large(limits: ConnectionLimits) -> HttpProblem:
    """The answer to a head beyond the limits."""
    detail = f"The head of a request may have {limits.head_bytes} bytes and {limits.headers} headers."
    return HttpProblem("head_too_large", detail)


def problem_of(version: str, url: bytes, headers: Headers, limits: ConnectionLimits) -> HttpProblem | None:
    """What is wrong with a head that the parser takes; None if it is fine.

    Sources: RFC 9112, 3.2 (Host), 6.1 (Transfer-Encoding); RFC 3986, 2.1 (percent-encoding).
    """
    size, hosts, codings = len(url), list[bytes](), list[bytes]()
    for name, value in headers:
        size += len(name) + len(value) + _LINE_BYTES
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value.lower())
    if size > limits.head_bytes or len(headers) > limits.headers:
        return too_large(limits)
    if version == "0.9":
        return malformed("version: expected HTTP/1.1 or HTTP/1.0, got none")
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        return malformed(f"host: expected one header, got {len(hosts)}")
    if hosts and not _is_host(hosts[0]):
        return malformed("host: expected a name or an address, and perhaps a port")
    if codings and (codings != [b"chunked"] or version == "1.0"):
        return malformed("transfer-encoding: expected chunked, in HTTP/1.1")
    return None if _is_text(url.partition(b"?")[0]) else malformed("path: expected UTF-8")


def is_plain(version: str, url: bytes, headers: Headers, fields: Fields, limits: ConnectionLimits) -> bool:
    """Whether a head is surely fine and no proxy's, found out in a fifth of the time. `problem_of` decides on others.

    Parameters
    ----------
    fields : the headers by their names
    """
    host = fields.get(b"host")
    return (
        version == "1.1"
        and len(fields) == len(headers) <= limits.headers
        and len(url) + sum(map(len, fields)) + sum(map(len, fields.values())) + _LINE_BYTES * len(fields)
        <= limits.head_bytes
        and b"%" not in url
        and host is not None
        and _is_host(host)
        and _NOT_PLAIN.isdisjoint(fields)
    )


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy says for whom it asks."""
    return any(name in FORWARDED for name, _ in headers)


def without_upgrade(method: bytes, version: str, url: bytes, headers: Headers) -> bytes:
    """The head once more, without the header `Upgrade`: a server may ignore it (RFC 9110, 7.8)."""
    lines = [method + b" " + url + b" HTTP/" + version.encode()]
    lines += [name + b": " + value for name, value in headers if name != b"upgrade"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


@lru_cache(256)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None


def _is_text(path: bytes) -> bool:
    if b"%" not in path:
        return True  # the parser takes no other characters than those of ASCII
    try:
        unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return False
    return True
