"""The deadlines of all requests that wait, with one timer for all of them."""

import asyncio
from math import inf
from time import perf_counter

from hubless_service.http.problems import Problem
from hubless_service.searching.waiting import Reply

_BETWEEN = 0.002  # seconds between two looks, as each look covers all that wait


class Deadlines:
    """Ends replies with `deadline_exceeded` when their time is over. In the event loop only.

    A timer for each request would be set and cancelled for nothing, as nearly all are answered in time.
    """

    def __init__(self) -> None:
        self._due: dict[Reply, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._at = inf  # when the timer looks

    def add(self, reply: Reply, deadline: float, now: float) -> None:
        """End a reply at a deadline, by the clock of `perf_counter`."""
        self._due[reply] = deadline
        if deadline < self._at:
            self._look_at(deadline, now, reply.get_loop())

    def remove(self, reply: Reply) -> None:
        """Forget a reply that has its result."""
        self._due.pop(reply, None)

    def _look_at(self, moment: float, now: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer:
            self._timer.cancel()
        self._at = moment
        self._timer = loop.call_later(max(moment - now, 0.0), self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = perf_counter()
        over = [reply for reply, deadline in self._due.items() if deadline <= now or reply.done()]
        for reply in over:
            del self._due[reply]
        expire(*over)
        self._timer, self._at = None, inf
        if self._due:
            self._look_at(max(min(self._due.values()), now + _BETWEEN), now, loop)


def expire(*replies: Reply) -> None:
    """End replies that have no result yet."""
    for reply in replies:
        if not reply.done():
            reply.set_exception(Problem("deadline_exceeded", "The request could not be answered in the time it has."))
