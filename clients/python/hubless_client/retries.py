"""When a request is sent again, and how long the client waits before it."""

from dataclasses import dataclass

import httpx
import httpx_retries

from hubless_client.errors import TooManyWrongKeys
from hubless_client.problems import PROBLEM, problem

# GET and POST can be sent twice without harm: they read, or say once more which version is to be served. A change of an
# alias cannot, as the second one would find that the first has been there. A read timeout is not
# among the reasons: the server may still be working on the first one, and a second would only add to its load.
METHODS = ("GET", "POST")
STATUSES = (429, 502, 503)  # 502 is how a proxy says that the connection was refused
_NO_STATUS = (0,)  # the whole answer is looked at, and an empty list would mean the library's own
FAILURES = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a request is sent again: after a lost connection, or an answer that says to wait.

    That is a 429 or 503 of the service with `Retry-After`, or a 429, 502 or 503 of a proxy before it. What the service
    does not say to ask again will be no better: it has retried an encoder that failed already, and files that are
    damaged stay so.

    Attributes
    ----------
    total : attempts after the first; 0 turns retries off
    backoff : seconds; before attempt i (1, 2, ...) the wait is drawn evenly from 0 to backoff·2^i
    max_wait : seconds; the longest single wait, also where Retry-After asks for more
    max_total_wait : seconds; the longest sum of waits in one call
    """

    total: int = 3
    backoff: float = 0.1
    max_wait: float = 10.0
    max_total_wait: float = 30.0

    def policy(self) -> httpx_retries.Retry:
        """The same in the words of httpx-retries."""
        return httpx_retries.Retry(
            total=self.total,
            allowed_methods=METHODS,
            status_forcelist=_NO_STATUS,
            validate_response=_raise_if_passing,
            retry_on_exceptions=(*FAILURES, _Passing),
            backoff_factor=self.backoff,
            max_backoff_wait=self.max_wait,
            total_timeout=self.max_total_wait,
        )


class _Passing(Exception):
    """An answer after which the same request may succeed; caught where it is sent again."""


def _raise_if_passing(response: httpx.Response) -> None:
    of_a_proxy = not response.headers.get("Content-Type", "").startswith(PROBLEM)
    # who has tried too many keys would have to wait longer than a call should last
    told_to_wait = "Retry-After" in response.headers and not isinstance(problem(response), TooManyWrongKeys)
    if response.status_code in STATUSES and (of_a_proxy or told_to_wait):
        raise _Passing


DEFAULT_RETRIES = Retries()
NO_RETRIES = Retries(total=0)
