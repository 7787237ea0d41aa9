"""A service that has to serve a new version before old ones are deleted."""

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubless.deadline import within
from hubless.encoders.http import by, checked_url, http_transport
from hubless.errors import InputError

if TYPE_CHECKING:
    import httpx

ENOUGH = 3
"""Answers in a row that have to name the version: each may come from another worker."""
PAUSE_SECONDS = 0.5
_ANSWER_SECONDS = 10.0
"""The longest that one answer may take."""
KEY_VARIABLE = "HUBLESS_API_KEY"
_REFUSED = (401, 403)
"""Statuses that another try does not change."""


@dataclass(frozen=True)
class ServiceWait:
    """`switched` says whether a service serves a version, and `said` the last it answered if it does not."""

    switched: bool
    said: str = ""


class AwaitedService:
    """A service that is waited for. What is wrong with its address or the environment is known when this is made.

    Raises `InputError` naming the address, a proxy or certificates of the environment, or the variable of the API key.
    """

    def __init__(self, url: str, collection: str) -> None:
        import httpx  # takes a tenth of a second, and few runs wait

        key = os.environ.get(KEY_VARIABLE, "")
        if not (key.isascii() and key.isprintable()):
            raise InputError(KEY_VARIABLE, "printable ASCII", "something else; it may end in a line break")
        self.collection = collection
        self._address = f"{checked_url('wait_for', url)}/v1/collections/{collection}"
        # a connection each: one connection is answered by one worker
        limits = httpx.Limits(max_keepalive_connections=0)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        sender = http_transport("wait_for", url, limits)
        self._http = httpx.Client(transport=sender, trust_env=False, headers=headers)

    def check(self, timeout: float) -> None:
        """Raise `InputError` if the service refuses the key. One that does not answer yet is asked again in the end."""
        import httpx

        with suppress(httpx.HTTPError):
            if (status := self._ask(timeout).status_code) in _REFUSED:
                raise InputError(KEY_VARIABLE, self._key_that_may, f"status {status} from {self._address}")

    def wait(self, version: str, timeout: float) -> ServiceWait:
        """Ask for the version of the collection until it is this one or a newer one."""
        import httpx

        end = time.monotonic() + timeout
        seen = 0
        said = "nothing"
        while time.monotonic() < end:
            served = None
            try:
                answer = self._ask(max(0.1, end - time.monotonic()))
                if answer.status_code in _REFUSED:
                    return ServiceWait(
                        False, f"status {answer.status_code}: set {KEY_VARIABLE} to {self._key_that_may}"
                    )
                served = answer.json().get("version") if answer.is_success else None
                said = f"version {served}" if served else f"status {answer.status_code}{by(self._address)}"
            except httpx.HTTPError as error:
                said = f"{str(error) or type(error).__name__}{by(self._address)}"
            except (ValueError, AttributeError) as error:
                said = f"no version ({error}){by(self._address)}"
            seen = seen + 1 if served and served >= version else 0
            if seen == ENOUGH:
                return ServiceWait(True)
            if not seen:
                time.sleep(min(PAUSE_SECONDS, max(0.0, end - time.monotonic())))
        return ServiceWait(False, f"{said} for {timeout:g} seconds")

    @property
    def _key_that_may(self) -> str:
        return f"an API key that may read {self.collection!r}"

    def _ask(self, seconds: float) -> "httpx.Response":
        with within(min(_ANSWER_SECONDS, seconds)):
            return self._http.get(self._address, timeout=_ANSWER_SECONDS)

    def close(self) -> None:
        self._http.close()


@contextmanager
def awaited(url: str | None, collection: str, timeout: float) -> Iterator[AwaitedService | None]:
    """Open a service that is waited for, if there is one, and ask it once, so that a wrong key is known at once."""
    if url is None:
        yield None
        return
    with closing(AwaitedService(url, collection)) as service:
        service.check(timeout)
        yield service
