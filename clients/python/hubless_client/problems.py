"""An answer without success becomes an error of the tree. hubless, a proxy or another server may have sent it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx

from hubless_client import errors
from hubless_client.errors import ApiError

REQUEST_ID = "X-Request-ID"
PROBLEM = "application/problem+json"
EXCERPT = 200  # characters of a foreign body that an error quotes
OWN_ATTRIBUTES = {"type", "title", "status", "detail", "code", "request_id"}


def _below(kind: type[ApiError]) -> Iterator[type[ApiError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


BY_CODE: Mapping[str, type[ApiError]] = {kind.code: kind for kind in _below(ApiError)}

BY_STATUS: Mapping[int, type[ApiError]] = {
    400: errors.ApiInvalidInput,
    401: errors.ApiAccessDenied,
    403: errors.ApiAccessDenied,
    404: errors.ApiNotFound,
    405: errors.ApiMethodNotAllowed,
    408: errors.ApiRequestTimeout,
    410: errors.ApiCursorExpired,
    409: errors.ApiChangeRefused,
    412: errors.ApiChangeRefused,
    413: errors.ApiBodyTooLarge,
    415: errors.ApiUnsupportedMediaType,
    422: errors.ApiInvalidInput,
    428: errors.ApiChangeRefused,
    429: errors.ApiTooManyRequests,
    431: errors.ApiHeadTooLarge,
    500: errors.ApiInternalError,
    502: errors.ApiUnavailable,
    503: errors.ApiUnavailable,
    504: errors.ApiDeadlineExceeded,
}
"""The class of a status, for answers whose code this version does not know."""


def read_problem(response: httpx.Response, by: str = "") -> ApiError:
    """The error that the answer stands for. `by` names the proxy that may have made it instead of the server."""
    members = _members(response)
    code = members.get("code")
    return _kind(code, response.status_code)(
        _detail(members, response) + ("" if is_own(response) else by),
        status=response.status_code,
        code=code if isinstance(code, str) else None,
        title=_text(members.get("title")) or _phrase(response.status_code),
        request_id=_text(members.get("request_id")) or response.headers.get(REQUEST_ID),
        extra={name: value for name, value in members.items() if name not in OWN_ATTRIBUTES},
        retry_after=_seconds(response.headers.get("Retry-After", "")),
    )


def is_own(response: httpx.Response) -> bool:
    """True if the server itself refuses; False for a proxy before it, or another server."""
    media_type: str = response.headers.get("Content-Type", "")
    return media_type.startswith(PROBLEM)


def excerpt(response: httpx.Response) -> str:
    """The beginning of a body, on one line."""
    # Not `response.text`: that raises for a foreign server's charset "rot13".
    text = " ".join(response.content[: 4 * EXCERPT].decode("utf-8", "replace").split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def _kind(code: object, status: int) -> type[ApiError]:
    if isinstance(code, str) and code in BY_CODE:
        return BY_CODE[code]
    return BY_STATUS.get(status, errors.ApiServerError if status >= 500 else ApiError)


def _members(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _detail(members: dict[str, Any], response: httpx.Response) -> str:
    if response.has_redirect_location:
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
    # RFC 9110 dates are GMT. Python reads a date written with -0000 as one without a zone.
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
