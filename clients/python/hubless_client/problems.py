"""From what httpx brings, an answer or an exception, to the client's own errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx

from hubless_client.errors import BadAnswer, CannotSend, ConnectionFailed, ProblemError, TimedOut, kind_of

REQUEST_ID = "X-Request-ID"
PROBLEM = "application/problem+json"
EXCERPT = 200  # characters of a foreign body that an error quotes
OWN_ATTRIBUTES = {"type", "title", "status", "detail", "code", "request_id"}


def problem(response: httpx.Response) -> ProblemError:
    """The error that an answer without success stands for, whoever sent it: hubless, a proxy, another server."""
    members = _members(response)
    code = members.get("code")
    return kind_of(code, response.status_code)(
        _detail(members, response),
        status=response.status_code,
        code=code if isinstance(code, str) else None,
        title=_text(members.get("title")) or _phrase(response.status_code),
        request_id=_text(members.get("request_id")) or response.headers.get(REQUEST_ID),
        extra={name: value for name, value in members.items() if name not in OWN_ATTRIBUTES},
        retry_after=_seconds(response.headers.get("Retry-After", "")),
    )


@contextmanager
def httpx_errors_translated() -> Iterator[None]:
    """Raise the client's own error in the place of each of httpx's.

    Raises
    ------
    CannotSend : the address or a header is not valid, or the client is closed
    TimedOut, ConnectionFailed : no whole answer came
    BadAnswer : the answer came and could not be decoded
    """
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeEncodeError) as error:
        raise CannotSend(str(error)) from error
    except httpx.TimeoutException as error:
        raise TimedOut(f"{_server(error)}: {type(error).__name__} {error}".rstrip()) from error
    except httpx.TransportError as error:
        raise ConnectionFailed(f"{_server(error)}: {error or type(error).__name__}") from error
    except httpx.RequestError as error:
        raise BadAnswer(f"{_server(error)}: {error}") from error


def excerpt(response: httpx.Response) -> str:
    """The beginning of a body, on one line."""
    text = " ".join(response.text[: 4 * EXCERPT].split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def _members(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _detail(members: dict[str, Any], response: httpx.Response) -> str:
    if response.is_redirect:
        return f"redirected to {response.headers.get('Location')}; give that server as base_url"
    return (
        _text(members.get("detail"))
        or _text(members.get("title"))
        or excerpt(response)
        or _phrase(response.status_code)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"status {status}"


def _seconds(retry_after: str) -> float | None:
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # RFC 9110 dates are GMT; a date written with -0000 parses without a zone.
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _server(error: httpx.RequestError) -> str:
    # Not the whole URL: it may bear a password.
    url = error.request.url
    return f"{error.request.method} {url.scheme}://{url.netloc.decode()}{url.path}"
