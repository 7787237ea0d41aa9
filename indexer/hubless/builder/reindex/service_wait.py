"""Waiting until a service serves a version."""

import os
import time
from dataclasses import dataclass

ENOUGH = 3
"""Answers in a row that have to name the version: each may come from another worker."""
PAUSE_SECONDS = 0.5
KEY_VARIABLE = "HUBLESS_API_KEY"
"""Environment variable with the key for a service that asks for one."""
_REFUSED = (401, 403)
"""Statuses that another try does not change."""


@dataclass(frozen=True)
class ServiceWait:
    """`switched` says whether a service serves a version, and `said` the last it answered if it does not."""

    switched: bool
    said: str = ""


def wait_for_service(url: str, collection: str, version: str, timeout: float) -> ServiceWait:
    """Ask a service for the version of a collection until it is this one or a newer one."""
    import httpx  # takes a tenth of a second, and few runs wait

    end, seen, said = time.monotonic() + timeout, 0, "nothing"
    headers = {"Authorization": f"Bearer {key}"} if (key := os.environ.get(KEY_VARIABLE)) else {}
    address = f"{url.rstrip('/')}/v1/collections/{collection}"
    while time.monotonic() < end:
        served = None
        try:
            # a connection each: one connection is answered by one worker
            answer = httpx.get(address, headers=headers, timeout=min(10.0, max(0.1, end - time.monotonic())))
            if answer.status_code in _REFUSED:
                said = f"status {answer.status_code}: set {KEY_VARIABLE} to an API key that may read {collection!r}"
                return ServiceWait(False, said)
            served = answer.json().get("version") if answer.is_success else None
            said = f"version {served}" if served else f"status {answer.status_code}"
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            said = str(error) or type(error).__name__
        except httpx.InvalidURL as error:
            return ServiceWait(False, f"{url} is no address ({error})")
        seen = seen + 1 if served and served >= version else 0
        if seen == ENOUGH:
            return ServiceWait(True)
        if not seen:
            time.sleep(min(PAUSE_SECONDS, max(0.0, end - time.monotonic())))
    return ServiceWait(False, f"{said} for {timeout:g} seconds")
