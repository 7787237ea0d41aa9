"""When a request is sent again, and how long the client waits before it."""

from dataclasses import dataclass

import httpx
import httpx_retries

# GET and POST can be sent twice without harm: they read, or say once more which version is to be served. A change of an
# alias cannot, as the second one would find that the first has been there. A read timeout is not
# among the reasons: the server may still be working on the first one, and a second would only add to its load.
METHODS = ("GET", "POST")
STATUSES = (429, 502, 503)  # 502 is how a proxy says that the connection was refused
FAILURES = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a request is sent again after a lost connection, a 429, a 502 or a 503.

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
            status_forcelist=STATUSES,
            retry_on_exceptions=FAILURES,
            backoff_factor=self.backoff,
            max_backoff_wait=self.max_wait,
            total_timeout=self.max_total_wait,
        )


DEFAULT_RETRIES = Retries()
NO_RETRIES = Retries(total=0)
