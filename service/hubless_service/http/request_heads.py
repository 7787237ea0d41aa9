"""Heads of requests, and why one is refused."""

import re
from itertools import chain
from urllib.parse import unquote_to_bytes

from httptools import HttpParserCallbackError, HttpParserError, HttpParserInvalidURLError

from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Headers
from hubless_service.settings import Settings

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
    """Return what is wrong with a head that the parser takes, or None."""
    size = len(url) + sum(map(len, chain.from_iterable(headers)), _LINE_BYTES * len(headers))
    if size > settings.max_head_bytes or len(headers) > settings.max_headers:
        return too_large(settings)
    hosts = [value for name, value in headers if name == b"host"]
    detail = _fault(version, url, hosts, [value for name, value in headers if name == b"transfer-encoding"])
    return malformed(detail) if detail else None


def _fault(version: str, url: bytes, hosts: list[bytes], codings: list[bytes]) -> str | None:
    """Return which rule a head breaks (RFC 9112, 3.2 and 6.1; RFC 3986, 2.1); None if it keeps them."""
    if version == "0.9":
        return "version: expected HTTP/1.1 or HTTP/1.0, got none"
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        return f"host: expected one header, got {len(hosts)}"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return "host: expected a name or an address, and perhaps a port"
    if codings and ([coding.lower() for coding in codings] != [b"chunked"] or version == "1.0"):
        return "transfer-encoding: expected chunked, in HTTP/1.1"
    try:  # the parser takes no other characters than those of ASCII
        unquote_to_bytes(url.partition(b"?")[0]).decode() if b"%" in url else None
    except UnicodeDecodeError:
        return "path: expected UTF-8"
    return None


def refusal_of(error: HttpParserError) -> HttpProblem:
    """Return why the parser, or one of its callbacks, refuses a request. A failure of ours is raised as it is."""
    cause = error.__context__
    if not isinstance(error, HttpParserCallbackError):
        return malformed(f"{error}.")
    if isinstance(cause, HttpProblem):
        return cause
    if cause and not isinstance(cause, HttpParserInvalidURLError):
        raise cause
    return malformed("The target of the request is not one.")
