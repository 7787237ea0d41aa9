"""Turn errors of httpx into errors of the tree. No error shows a password."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from hubless_client.connection import without_password
from hubless_client.errors import BadAnswer, CannotSend, ConnectionFailed, TimedOut
from hubless_client.proxies import Proxy, by

_NO_TLS = "it does not speak TLS: does its address begin with http://?"
HINTS = {
    "CERTIFICATE_VERIFY_FAILED": "SSL_CERT_FILE may name the certificates to trust; REQUESTS_CA_BUNDLE is not read",
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "UNEXPECTED_EOF_WHILE_READING": _NO_TLS,
}
"""What to look at, by a word of OpenSSL's."""


@contextmanager
def failures_translated(proxy: Proxy | None) -> Iterator[None]:
    """Raise the client's own errors instead of httpx's. They name the proxy that the request went by.

    Raises
    ------
    CannotSend : the address or a header is not valid
    TimedOut, ConnectionFailed : no whole answer came
    BadAnswer : the answer came and could not be decoded
    """
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeEncodeError) as error:
        raise CannotSend(str(error)) from error
    except httpx.TimeoutException as error:
        raise TimedOut(f"{_request(error, proxy)}: {type(error).__name__} {error}".rstrip()) from error
    except httpx.TransportError as error:
        said = str(error) or type(error).__name__
        hint = next((f"; {hint}" for word, hint in HINTS.items() if word in said), "")
        raise ConnectionFailed(f"{_request(error, proxy)}: {said}{hint}") from error
    except httpx.RequestError as error:
        raise BadAnswer(f"{_request(error, proxy)}: {error}") from error


def _request(error: httpx.RequestError, proxy: Proxy | None) -> str:
    return f"{error.request.method} {without_password(error.request.url)}{by(proxy)}"
