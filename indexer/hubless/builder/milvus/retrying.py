"""Calls that are made again if Milvus does not answer."""

import time
from collections.abc import Callable
from typing import TypeVar

from hubless.errors import EngineTimeout, EngineUnavailable

ATTEMPTS, PAUSE_SECONDS = 6, 1.0
"""Of a call, and the pause after the first one; it doubles."""
_Given = TypeVar("_Given")


def again(call: Callable[[], _Given]) -> _Given:
    """What a call gives; made again if Milvus does not answer.

    Raises
    ------
    EngineUnavailable, EngineTimeout
        at the last attempt.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return call()
        except (EngineUnavailable, EngineTimeout):
            time.sleep(PAUSE_SECONDS * 2**attempt)
    return call()
