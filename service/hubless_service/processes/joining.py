"""Waits for threads when the process ends."""

import asyncio
import logging
from collections.abc import Iterable
from threading import Thread
from time import monotonic

log = logging.getLogger("hubless")

SECONDS = 5.0
"""Time that all threads together have to end."""
_LOOK_SECONDS = 0.01


async def join(threads: Iterable[Thread], seconds: float = SECONDS) -> None:
    """Wait until all threads have ended, or the time is over; the event loop does other work meanwhile."""
    ends = monotonic() + seconds
    left = [thread for thread in threads if thread.is_alive()]
    while left and monotonic() < ends:
        await asyncio.sleep(_LOOK_SECONDS)
        left = [thread for thread in left if thread.is_alive()]
    if left:
        log.warning("stopping without %s, still at work", ", ".join(sorted(thread.name for thread in left)))
