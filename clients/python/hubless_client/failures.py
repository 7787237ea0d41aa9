"""Turn errors of httpx into errors of the tree. No error shows a password."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from hubless_client.errors import BadAnswer, CannotSend, ConnectionFailed, TimedOut


@contextmanager
def failures_translated() -> Iterator[None]:
    """Raise the client's own errors instead of httpx's.

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
        raise TimedOut(f"{_request(error)}: {type(error).__name__} {error}".rstrip()) from error
    except httpx.TransportError as error:
        raise ConnectionFailed(f"{_request(error)}: {error or type(error).__name__}") from error
    except httpx.RequestError as error:
        raise BadAnswer(f"{_request(error)}: {error}") from error


def without_password(url: httpx.URL) -> str:
    """A URL as people may see it: without user, password and parameters."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"


def _request(error: httpx.RequestError) -> str:
    return f"{error.request.method} {without_password(error.request.url)}"
