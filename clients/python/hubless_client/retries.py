"""When the client sends a request again, and how long it waits before."""

from dataclasses import dataclass

import httpx
import httpx_retries

from hubless_client.errors import ApiTooManyWrongKeys, CannotSend
from hubless_client.problems import is_own, read_problem

# Each call says itself whether it may be sent again. A read timeout is no reason to do so: the server may still work on
# the first request, and a second one adds to its load.
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
RETRIED_STATUSES = (429, 502, 503)  # a proxy answers 502 if the server refused its connection
RETRIED_EXCEPTIONS = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)
_NO_STATUS = (0,)  # the status alone does not decide; an empty list would mean httpx-retries' own


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits and pauses with which the client sends a request again.

    It does so after a lost connection, after a 429 or 503 of the server with `Retry-After`, and after a 429, 502 or 503
    of a proxy. It does not after other answers of the server: a damaged file stays damaged.

    Attributes
    ----------
    total : attempts after the first; 0 turns retries off
    backoff : seconds; before attempt i (1, 2, ...) the client waits a random time from 0 to backoff·2^i
    max_wait : seconds; the longest single wait, even if Retry-After asks for more
    max_total_wait : seconds; the longest sum of waits in one call

    Raises
    ------
    CannotSend : a number is negative
    """

    total: int = 3
    backoff: float = 0.1
    max_wait: float = 10.0
    max_total_wait: float = 30.0

    def __post_init__(self) -> None:
        for name in ("total", "backoff", "max_wait", "max_total_wait"):
            if getattr(self, name) < 0:
                raise CannotSend(f"retries: expected {name} of 0 or more, got {getattr(self, name)}")


def policy_of(retries: Retries) -> httpx_retries.Retry:
    """The same in the words of httpx-retries.

    Raises
    ------
    CannotSend : it is no `Retries`
    """
    if not isinstance(retries, Retries):
        raise CannotSend(f"retries: expected Retries, such as Retries(3), got {type(retries).__name__}")
    return httpx_retries.Retry(
        total=retries.total,
        allowed_methods=_METHODS,
        status_forcelist=_NO_STATUS,
        validate_response=_raise_if_passing,
        retry_on_exceptions=(*RETRIED_EXCEPTIONS, _PassingTrouble),
        backoff_factor=retries.backoff,
        max_backoff_wait=retries.max_wait,
        total_timeout=retries.max_total_wait,
    )


class _PassingTrouble(Exception):
    """An answer after which the same request may succeed. httpx-retries catches it."""


def _raise_if_passing(response: httpx.Response) -> None:
    # The wait after too many wrong keys is longer than a call should last.
    told_to_wait = "Retry-After" in response.headers and not isinstance(read_problem(response), ApiTooManyWrongKeys)
    if response.status_code in RETRIED_STATUSES and (told_to_wait or not is_own(response)):
        raise _PassingTrouble


DEFAULT_RETRIES = Retries()
ONCE = policy_of(Retries(total=0))
