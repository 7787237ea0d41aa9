"""When the client sends a request again, and how long it waits before."""

from dataclasses import dataclass
from typing import Any

import httpx
from tenacity import retry_if_exception_type, retry_if_result, wait_random_exponential

from hubless_client.errors import ApiTooManyWrongKeys, CannotSend
from hubless_client.problems import is_own, read_problem

# Each call says itself whether it may be sent again. A read timeout is no reason to do so: the server may still work on
# the first request, and a second one adds to its load.
RETRIED_STATUSES = (429, 502, 503)  # a proxy answers 502 if the server refused its connection
RETRIED_EXCEPTIONS = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)


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


def policy_of(retries: Retries) -> dict[str, Any]:
    """The same in the words of tenacity.

    Raises
    ------
    CannotSend : it is no `Retries`
    """
    if not isinstance(retries, Retries):
        raise CannotSend(f"retries: expected Retries, such as Retries(3), got {type(retries).__name__}")

    def seconds(call: Any) -> Any:
        asked = None if call.outcome.failed else read_problem(call.outcome.result()).retry_after
        return min(
            asked or wait_random_exponential(2 * retries.backoff)(call),
            retries.max_wait,
            retries.max_total_wait - call.idle_for,
        )

    return {
        "retry": retry_if_exception_type(RETRIED_EXCEPTIONS) | retry_if_result(_is_passing),
        "stop": lambda call: call.attempt_number > retries.total or call.idle_for >= retries.max_total_wait,
        "wait": seconds,
        "retry_error_callback": lambda call: call.outcome.result(),
    }


def _is_passing(response: httpx.Response) -> bool:
    """Return whether the same request may succeed after this answer."""
    return response.status_code in RETRIED_STATUSES and (
        not is_own(response)
        # the wait after too many wrong keys is longer than a call should last
        or ("Retry-After" in response.headers and not isinstance(read_problem(response), ApiTooManyWrongKeys))
    )


DEFAULT_RETRIES = Retries()
ONCE = policy_of(Retries(total=0))
