"""One queue of work. Items of equal keys that wait together are answered by one call, first come first served.

The event loop decides, so nothing here needs a lock. There is no timer: items that come in two rounds of the event loop
wait together, and so do those that come while a search runs. Work known to be cheaper than the way to a thread and back
is done in the event loop; threads do the rest.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

from hubless.deadline import within
from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.warm_threads import WarmThreads

_log = logging.getLogger("hubless.queue")

# answers items in their order, each with its result, or with an exception that is its own
Answer = Callable[[Sequence[Any]], Sequence[Any]]

HOP = 0.0002
"""Seconds of both processors that it takes to hand items to a thread and their results back."""
SHORT = 0.001
"""Seconds that a query may keep the event loop from other work; a batch may do so for twice as long. Longer searches of
one key are shared among the threads."""
MOST_KEYS = 1024
_SHORTEST = 1e-6  # seconds a query
_NEW = 0.1  # weight of the last call in the seconds of a key, so that one that was held up changes little
# shares of the time that a request has: for the search itself, and for waiting; the rest is for the way
_SEARCHING, _WAITING = 0.5, 0.3


@dataclass(eq=False, slots=True)
class WorkItem:
    """The work of one request."""

    key: Hashable | None  # items of equal keys can be answered by one call; one without a key is answered alone
    answer: Answer
    content: Any
    size: int  # queries
    deadline: float  # on the clock of `submitted`
    inline: bool  # whether it may be answered in the event loop
    exclusive: bool  # whether it takes all processors, so that two of this key would only slow each other down
    trace: Trace
    future: "asyncio.Future[Any]"  # gets the answer; an item whose future is done is not taken
    submitted: float
    timer: asyncio.TimerHandle  # ends the request at its deadline


class WorkQueue:
    """Answers items, those of equal keys together. In the event loop only, but for `stop`."""

    def __init__(
        self,
        threads: int,
        most: int,
        batch: int,
        prepare: Callable[[], object],
        inline_seconds: float = HOP,
        failed: Callable[[], object] = lambda: None,
        searched: Callable[[int], object] = lambda queries: None,
        workers: int = 1,
    ) -> None:
        """At most `most` queries wait, `batch` are answered by one call, and `prepare` is called in each thread.

        `failed` hears of what a thread survives, and `searched` of the queries that a call has answered.

        What takes less than `inline_seconds` may be answered in the event loop. Of so many `workers` each leaves the
        others their part of the processors.
        """
        self.threads = threads
        self._at_once = threads // (workers or 1) or 1  # expensive searches of a key
        self._failed, self._searched = failed, searched
        self._batch = batch
        self._inline_seconds = inline_seconds
        self.waiting = 0  # queries
        self._most = most
        self._groups: dict[Hashable, deque[WorkItem]] = {}  # those that wait, by their keys
        self._running = list[Hashable]()  # keys of searches in threads now
        self._seconds: dict[int, float] = {}  # a query, by the hash of the key, as keys hold collections
        self._idle = threads
        self._turn_comes = self._closed = False
        self._threads = WarmThreads(threads, "search", prepare)

    def start(self) -> None:
        """Let the threads begin."""
        self._threads.start()

    def stop(self) -> list[threading.Thread]:
        """Begin nothing more. Return the threads, which finish the calls that they began. From any thread."""
        self._closed = True
        return self._threads.stop()

    def submit(
        self,
        trace: Trace,
        deadline: float,
        answer: Answer,
        content: Any,
        key: Hashable = None,
        *,
        size: int = 1,
        inline: bool = True,
        exclusive: bool = False,
    ) -> "asyncio.Future[Any]":
        """Queue a `WorkItem`, and return a future of its result. Cancel it to take the work from the queue.

        If the request is alone, no other is waited for.
        """
        now = perf_counter()
        self.check_room(now, trace.late, deadline - trace.started)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        timer = loop.call_later(max(deadline - now, 0.0), _expire, future)
        self.add(
            WorkItem(
                key,
                answer,
                content,
                size,
                deadline,
                inline,
                exclusive and self._batch > 1,
                trace,
                future,
                now,
                timer,
            )
        )
        if trace.alone:
            self._take_turn()
        else:
            self._come_soon()
        return future

    def _come_soon(self) -> None:
        if not self._turn_comes:
            self._turn_comes = True
            # two rounds of the loop later: what is read in the next one has been parsed by then, and goes with it
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._take_turn)

    def _take_turn(self) -> None:
        """Answer what is cheap, or hand items to all threads that are idle. All that has come by now is parsed."""
        self._turn_comes = False
        if self._closed:
            return
        now = perf_counter()
        if (cheap := self.take_cheap(now)) is not None:
            if cheap:
                self._end(cheap, *self._answers(cheap))
            if self.waiting:
                self._come_soon()
            return
        while self._idle and (items := self.take(now)) is not None:
            if items:
                self._idle -= 1
                self._threads.submit(partial(self._serve, items))

    def _serve(self, items: list[WorkItem]) -> None:
        """Answer items in a thread, unless stopped."""
        if self._closed:
            return
        with within(max(item.deadline for item in items) - perf_counter()):
            answered = self._answers(items)
        with suppress(RuntimeError):  # the loop is closed when the process ends: then nobody waits any more
            items[0].future.get_loop().call_soon_threadsafe(self._return, items, *answered)

    def _return(self, items: list[WorkItem], outcomes: Sequence[Any], seconds: float) -> None:
        """Take the answers of a thread, which is idle now."""
        self._idle += 1
        self._end(items, outcomes, seconds)
        self._come_soon()

    def _answers(self, items: list[WorkItem]) -> tuple[Sequence[Any], float]:
        """Return the outcome of each item, and how long the call took. Whatever happens in it, the thread goes on."""
        started = perf_counter()
        try:
            outcomes = items[0].answer([item.content for item in items])
            if len(outcomes) != len(items):
                raise RuntimeError(f"{len(items)} requests have {len(outcomes)} answers")
        except Exception as error:
            outcomes = [error] * len(items)
        except BaseException:
            _log.exception("a search thread has failed and goes on")
            self._failed()
            outcomes = [RuntimeError("a search thread has failed")] * len(items)
        return outcomes, perf_counter() - started

    def _end(self, items: list[WorkItem], outcomes: Sequence[Any], seconds: float) -> None:
        """Give each item its outcome, and learn how long the call took."""
        size = 0
        now = perf_counter()
        for item, outcome in zip(items, outcomes, strict=True):
            size += item.size
            item.timer.cancel()
            if item.deadline < now:  # the loop was kept from its timer
                _expire(item.future)
            if item.future.done():
                continue
            if isinstance(outcome, StopIteration):  # which no future takes
                outcome = RuntimeError("an iterator has ended too soon")
            if isinstance(outcome, Exception):
                item.future.set_exception(outcome)
            else:
                item.future.set_result(outcome)
        self.note(items[0].key, size, seconds)
        self._searched(size)

    # what waits; there is no clock here, the caller passes the time

    def check_room(self, now: float, late: float, seconds: float) -> None:
        """Raise `too_many_requests` if no more may wait, or one more would wait for too large a share of its time."""
        if self.waiting >= self._most:
            raise HttpProblem("too_many_requests", f"{self.waiting} queries wait to be searched already.")
        wait = late
        if self._groups:
            # as long as the item has waited whose turn comes next, and no less than to search for all that wait takes
            key, group = next(iter(self._groups.items()))
            first = group[0]
            at_once = 1 if first.exclusive else self._at_once
            wait += max(now - first.submitted, self.waiting * self._seconds.get(hash(key), 0.0) / at_once)
        if wait > max(0.0, _WAITING * seconds):
            detail = f"It would wait for {wait:.2g} seconds or more to be searched, and has {seconds:.2g} in all."
            raise HttpProblem("too_many_requests", detail)

    def add(self, item: WorkItem) -> None:
        """Have an item wait."""
        self._groups.setdefault(item if item.key is None else item.key, deque()).append(item)
        self.waiting += item.size

    def take(self, now: float) -> list[WorkItem] | None:
        """Take the items whose turn it is, maybe none that has the time; None if nothing can be taken."""
        for key, group in self._groups.items():
            first, seconds = group[0], self._seconds.get(hash(key), 0.0)
            free = 1  # searches that share what waits: one that is cheap takes all
            if first.exclusive or seconds >= SHORT:
                free = (1 if first.exclusive else self._at_once) - self._running.count(key)
            if free > 0:
                break
        else:
            return None
        in_time = int(_SEARCHING * (first.deadline - first.submitted) / (seconds or _SHORTEST))
        items = self._pop(key, now, min(self._batch, ceil(self.waiting / free), in_time), seconds)
        if items:
            self._running.append(first.key)
        return items

    def take_cheap(self, now: float) -> list[WorkItem] | None:
        """Take the items whose turn it is, if they are known to be cheap and may be answered in the event loop."""
        key = next(iter(self._groups), None)
        if key is None or not (seconds := self._seconds.get(hash(key))):
            return None
        first = self._groups[key][0]
        expensive = seconds > self._inline_seconds and first.size < self.waiting
        if expensive or not first.inline or first.exclusive or first.size * seconds > SHORT:
            return None
        # a batch that is cut costs more in all, and what its parts were seen to cost would have the next one cut again
        return self._pop(key, now, min(self._batch, int(2 * SHORT / seconds)), seconds)

    def note(self, key: Hashable | None, size: int, seconds: float) -> None:
        """Learn how long a call took that answered so many queries of a key, and let its next search begin."""
        if key in self._running:
            self._running.remove(key)
        if key is None:
            return
        each = max(seconds / size, _SHORTEST)
        usual = self._seconds.pop(hash(key), each)
        self._seconds[hash(key)] = usual * (each / usual) ** _NEW
        if len(self._seconds) > MOST_KEYS:
            del self._seconds[next(iter(self._seconds))]

    def _pop(self, key: Hashable, now: float, most: int, seconds: float) -> list[WorkItem]:
        """Take items of a key up to so many queries, at least one; leave out those that would be answered too late."""
        group = self._groups.pop(key)
        items: list[WorkItem] = []
        size = 0
        waiting = 0
        for item in group:
            waiting += item.size
        end = now + seconds * min(most, waiting)
        last: WorkItem | None = None
        while group and (not items or size + group[0].size <= most):
            item = group.popleft()
            self.waiting -= item.size
            item.trace.add("queue", now - item.submitted)
            if item.future.done():
                item.timer.cancel()
            elif item.deadline >= end:
                items.append(item)
                size += item.size
            elif item.deadline > now:
                last = item  # its timer ends it
        if group:
            self._groups[key] = group  # behind the others, so that none of them starves
        # the estimate may be wrong, and only a search can put it right
        return items or ([last] if last else [])


def _expire(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_exception(HttpProblem("deadline_exceeded", "The request could not be answered in the time it has."))
