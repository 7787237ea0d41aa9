"""One request and how to read its answer: all that the sync and the async client share, without any I/O."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import httpx

from hubless_client.errors import BadAnswer, HublessError, ProblemError
from hubless_client.problems import REQUEST_ID, excerpt, problem

T = TypeVar("T")
Timeout: TypeAlias = float | httpx.Timeout


@dataclass(frozen=True, slots=True)
class Content:
    """What a request brings besides its path: URL parameters, a body, what it expects of what it changes."""

    params: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str | None = None
    if_match: str | None = None


NOTHING = Content()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request and how to read its answer.

    Attributes
    ----------
    method, path, content : what goes on the wire; the path is below the base URL, and quoted
    read : from the JSON of a success and its request id to the result
    read_503 : from a 503 to the result, for probes: there it is an answer, neither raised nor tried again
    request_id : sent as X-Request-ID; if None, the server makes one up
    timeout : of this call; if None, the client's
    """

    method: str
    path: str
    read: Callable[[Any, str | None], T]
    content: Content = NOTHING
    read_503: Callable[[ProblemError], T] | None = None
    request_id: str | None = None
    timeout: Timeout | None = None

    def for_httpx(self) -> dict[str, Any]:
        """The arguments of httpx's `build_request`, besides method and URL."""
        headers = {
            "Content-Type": self.content.media_type,
            "If-Match": self.content.if_match,
            REQUEST_ID: self.request_id,
        }
        return {
            "params": self.content.params,
            "content": self.content.body,
            "headers": {name: value for name, value in headers.items() if value is not None},
            "timeout": httpx.USE_CLIENT_DEFAULT if self.timeout is None else self.timeout,
        }

    def result(self, response: httpx.Response) -> T:
        """Read the answer.

        Raises
        ------
        ProblemError : the server answered with an error
        BadAnswer : it answered with success, and not with what the contract promises
        """
        if not response.is_success:
            error = problem(response)
            if self.read_503 and response.status_code == 503:
                return self.read_503(error)
            raise error
        request_id = response.headers.get(REQUEST_ID)
        try:
            return self.read(response.json(), request_id)
        except HublessError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            detail = f"{self.method} {self.path}: not the answer of a hubless server ({error!r}): {excerpt(response)}"
            raise BadAnswer(detail, status=response.status_code, request_id=request_id) from error
