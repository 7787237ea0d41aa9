"""A service that has to serve a new version before old ones are deleted."""

import os
import time
from dataclasses import dataclass

from hubless.encoders.http import by, checked_url, http_transport
from hubless.errors import InputError

ENOUGH = 3
"""Answers in a row that have to name the version: each may come from another worker."""
PAUSE_SECONDS = 0.5
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

    def wait(self, version: str, timeout: float) -> ServiceWait:
        """Ask for the version of the collection until it is this one or a newer one."""
        import httpx

        from hubless.encoders.in_time import in_time

        end, seen, said = time.monotonic() + timeout, 0, "nothing"
        while time.monotonic() < end:
            served = None
            try:
                with in_time(min(10.0, max(0.1, end - time.monotonic()))):
                    answer = self._http.get(self._address, timeout=10.0)
                if answer.status_code in _REFUSED:
                    may = f"set {KEY_VARIABLE} to an API key that may read {self.collection!r}"
                    return ServiceWait(False, f"status {answer.status_code}: {may}")
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

    def close(self) -> None:
        self._http.close()
