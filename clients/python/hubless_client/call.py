"""One request and how to read its answer. There is no I/O here: both clients share all of this."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import httpx

from hubless_client.errors import ApiError, BadAnswer, CannotSend, ClientError
from hubless_client.problems import REQUEST_ID, excerpt, read_problem
from hubless_client.proxies import Proxy, by

T_co = TypeVar("T_co", covariant=True)
Timeout: TypeAlias = float | httpx.Timeout
Json: TypeAlias = Mapping[str, Any]

# What reading a document of another form raises: brackets nested too deep, a number too large, a field that is missing.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)


def checked_timeout(timeout: Timeout) -> Timeout:
    """The timeout as it was given.

    Raises
    ------
    CannotSend : it is neither seconds nor an httpx.Timeout
    """
    if not isinstance(timeout, int | float | httpx.Timeout):
        raise CannotSend(f"timeout: expected seconds or an httpx.Timeout, got {type(timeout).__name__}")
    return timeout


@dataclass(frozen=True, slots=True)
class Content:
    """The query, headers and body of a request."""

    params: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str | None = None
    if_match: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One request and how to read its answer.

    Attributes
    ----------
    method, path, content : what is sent; the path is quoted, and starts below the base URL
    read : makes the result from the JSON of a success and its request id
    read_503 : only probes have it: makes the result from a 503, which is an answer to them and no error
    request_id : sent as X-Request-ID; if None, the server makes one up
    timeout : of this call; if None, the client's
    repeats : whether a second one does no harm if the first has arrived: the client may send it again
    """

    method: str
    path: str
    read: Callable[[Any, str | None], T_co]
    content: Content = field(default_factory=Content)
    read_503: Callable[[ApiError], T_co] | None = None
    request_id: str | None = None
    timeout: Timeout | None = None
    repeats: bool = True

    def for_httpx(self) -> dict[str, Any]:
        """The arguments of httpx's `build_request`, besides method and URL.

        Raises
        ------
        CannotSend : `request_id`, `if_match` or `timeout` is of another type
        """
        for parameter, value in {"request_id": self.request_id, "if_match": self.content.if_match}.items():
            if not isinstance(value, str | None):
                raise CannotSend(f"{parameter}: expected a string, got {type(value).__name__}")
        headers = {
            "Content-Type": self.content.media_type,
            "If-Match": self.content.if_match,
            REQUEST_ID: self.request_id,
        }
        return {
            "params": self.content.params,
            "content": self.content.body,
            "headers": {name: value for name, value in headers.items() if value is not None},
            "timeout": httpx.USE_CLIENT_DEFAULT if self.timeout is None else checked_timeout(self.timeout),
        }

    def result(self, response: httpx.Response, proxy: Proxy | None = None) -> T_co:
        """Read the answer. An error that is not the server's own names the proxy.

        Raises
        ------
        ApiError : the server answered with an error
        BadAnswer : the server answered with a success that does not follow the contract
        """
        if not response.is_success:
            error = read_problem(response, by(proxy))
            if self.read_503 and response.status_code == 503:
                return self.read_503(error)
            raise error
        request_id = response.headers.get(REQUEST_ID)
        try:
            return self.read(response.json(), request_id)
        except ClientError:
            raise
        except UNREADABLE as error:
            whose = f"not the answer of a hubless server{by(proxy)}"
            detail = f"{self.method} {self.path}: {whose} ({error!r}): {excerpt(response)}"
            raise BadAnswer(detail, status=response.status_code, request_id=request_id) from error


def nothing(_body: Json, _request_id: str | None) -> None:
    """Read an answer that says nothing more."""
