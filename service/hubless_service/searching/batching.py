"""Work for the search threads. What arrives while a search runs waits together, and goes as the next batch.

There is no timer in this: an idle thread takes a request at once, and a busy one makes the batch itself. A search that
reads all vectors takes all threads; of its kind one runs at a time, and the others go with the next. What takes
less than the way to a thread and back is answered in the event loop, if nothing else is to be done. Where more waits
than can be answered, a batch is made so small that it ends in time, of requests that have the time: were those searched
that have waited longest, all would come too late. And who would have to wait too long is told so at once.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from hubless_service.http.problems import RETRY_AFTER, Problem
from hubless_service.http.trace import Trace
from hubless_service.searching.costs import Costs

log = logging.getLogger("hubless.batching")

# answers items in their order, each with its result, or with an exception that is its own
Answer = Callable[[Sequence[Any]], Sequence[Any]]
Outcomes = Sequence[tuple[asyncio.Future[Any], Any]]
_CHEAP = 0.001  # seconds that the event loop can well be kept from other work, of which there is none
_LIGHT = 0.002  # seconds a query, in batches and while others run: what is not much more than the event loop's part
_WEIGHT = 0.3  # of the last search in the pace: one that was slow for once is soon forgotten
# of the time that a request has: for the search itself, and for waiting; the rest is for the way
_SEARCHING, _WAITING = 0.5, 0.3
# of the event loop: in the first the answers are written, in the second the next requests read, in the third parsed
_ROUNDS = 3
_ENOUGH = 32  # queries that are not worth waiting for more
_PATIENCE = 5.0  # seconds that a search may take to end when the process does


@dataclass(eq=False, slots=True)
class Job:
    """What one request waits for.

    Attributes
    ----------
    key : jobs of equal keys can be answered by one call; None by itself only
    size : how many queries it is
    deadline : on the clock of `perf_counter`
    whole : whether the search takes all processors, so that two of this key at a time would only be in each other's way
    """

    key: Hashable | None
    answer: Answer
    item: Any
    size: int
    deadline: float
    whole: bool
    trace: Trace
    future: asyncio.Future[Any]
    submitted: float


class Batcher:
    """Threads that answer jobs, those of equal keys together, first come first served; and the queue before them."""

    def __init__(
        self, threads: int, room: int, together: int, prepare: Callable[[], object], light: int | None = None
    ) -> None:
        """Make the threads, to be started.

        Parameters
        ----------
        threads : how many jobs or batches run at a time
        light : how many of them, if these take little time: then the event loop has as much to do for them as the
            threads, and needs a processor of its own; by default all
        room : how many queries may wait
        together : how many queries of several jobs may be answered by one call
        prepare : called once in each thread
        """
        self.on_batch: Callable[[int], None] = _ignore
        self.on_waiting: Callable[[int], None] = _ignore
        self.alone: Callable[[], bool] = _never
        self._costs = Costs()
        self._prepare = prepare
        self._room = room
        self._together = together
        self._groups: dict[Hashable, deque[Job]] = {}
        self._whole: set[Hashable] = set()  # keys of those that take all processors now
        self._paces = Costs(_WEIGHT)  # of a query in a batch; the others are of a request alone
        self._pace = 0.0  # of a query, whatever it is
        self._waiting = 0
        lock = threading.Lock()
        self._changed, self._heavy = threading.Condition(lock), threading.Condition(lock)
        self._closed = False
        # the same ones take all that is light, as they have it in their caches;
        # daemons, as a search cannot be interrupted and must not hold up the end of the process
        some = threads if light is None else light
        self._ready = some  # of those, the ones that do nothing heavy now
        self._threads = [
            threading.Thread(target=self._serve, args=[i < some], name=f"search-{i}", daemon=True)
            for i in range(threads)
        ]

    def start(self) -> None:
        """Let the threads begin."""
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float = _PATIENCE) -> None:
        """Begin nothing more, and let what runs finish within some seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._heavy.notify_all()
        for thread in self._threads:
            thread.join(patience)

    @property
    def threads(self) -> int:
        """How many jobs or batches run at a time."""
        return len(self._threads)

    @property
    def waiting(self) -> int:
        """How many queries wait."""
        return self._waiting

    def check_room(self) -> None:
        """Raise `too_many_requests` if the queue is full."""
        if self._waiting >= self._room:
            detail = f"{self._waiting} queries wait to be searched already."
            raise Problem("too_many_requests", detail, headers=RETRY_AFTER)

    def check_wait(self, trace: Trace, seconds: float) -> None:
        """Raise `too_many_requests` if a request that has some seconds in all would spend too many of them waiting."""
        wait = trace.late
        if self._waiting:
            with self._changed:
                first = min((group[0].submitted for group in self._groups.values()), default=inf)
            # as long as those need that wait already, and no less than the first of them has waited
            wait += max(perf_counter() - first, self._waiting * self._pace / self.threads)
        if wait > max(0.0, _WAITING * seconds):
            detail = f"It would wait for about {wait:.2g} seconds to be searched, and has {seconds:.2g} in all."
            raise Problem("too_many_requests", detail, headers=RETRY_AFTER)

    def submit(
        self,
        trace: Trace,
        deadline: float,
        answer: Answer,
        item: Any,
        key: Hashable = None,
        size: int = 1,
        *,
        here: bool = True,
        whole: bool = False,
    ) -> asyncio.Future[Any]:
        """Queue one item; without a key it is answered alone.

        Parameters
        ----------
        here : whether it may be answered in the event loop, if those before it with its key were cheap
        whole : whether the search takes all processors: then one of its key runs at a time

        Returns
        -------
        a future of its result; to cancel it is to take the item from the queue

        Raises
        ------
        Problem
            `too_many_requests`; from the future `deadline_exceeded`, as soon as it is.
        """
        self.check_room()
        self.check_wait(trace, deadline - trace.started)
        loop, now = asyncio.get_running_loop(), perf_counter()
        future: asyncio.Future[Any] = loop.create_future()
        job = Job(key, answer, item, size, deadline, whole and self._together > 1, trace, future, now)
        if here and now < deadline and self._costs.of(key) < _CHEAP and self.alone() and not self._closed:
            self.on_batch(size)
            trace.add("queue", 0.0)
            _deliver(self._answer([job]))
            return future
        timer = loop.call_later(deadline - now, _expire, future)
        future.add_done_callback(lambda _: timer.cancel())
        with self._changed:
            self._groups.setdefault(object() if key is None else key, deque()).append(job)
            self._wait_for(size)
            self._changed.notify()
            if not self._ready or not self._is_light(key):
                self._heavy.notify()
        return future

    def _serve(self, light: bool) -> None:
        self._prepare()
        while jobs := self._next(light):
            away = light and not self._is_light(jobs[0].key)
            if away:
                self._leave(1)
            started = perf_counter()
            outcomes = self._answer(jobs)
            pace = (perf_counter() - started) / _queries(jobs)
            self._paces.note(jobs[0].key, pace)
            self._pace += _WEIGHT * (pace * (self.threads if jobs[0].whole else 1) - self._pace)
            if jobs[0].whole:
                _in_loop(jobs[0], self._deliver_whole, jobs[0].key, outcomes)
            else:
                _in_loop(jobs[0], _deliver, outcomes)
            if away:
                self._leave(-1)
            del jobs, outcomes  # while the thread waits, nothing of an old version is held

    def _leave(self, threads: int) -> None:
        """Note that of the threads for what is light so many more are at something heavy; others do their part then."""
        with self._changed:
            self._ready -= threads
            if not self._ready:
                self._heavy.notify()

    def _deliver_whole(self, key: Hashable, outcomes: Outcomes) -> None:
        """In the event loop: deliver, and let the next of the key begin when who asks again at once has done so."""
        _deliver(outcomes)
        with self._changed:
            waiting = sum(job.size for job in self._groups.get(key, ()))
        self._release_after(0 if waiting >= _ENOUGH else _ROUNDS, asyncio.get_running_loop(), key)

    def _release_after(self, rounds: int, loop: asyncio.AbstractEventLoop, key: Hashable) -> None:
        if rounds:
            loop.call_soon(self._release_after, rounds - 1, loop, key)
        else:
            self._release(key)

    def _release(self, key: Hashable) -> None:
        """Let another search that takes all processors begin."""
        with self._changed:
            self._whole.discard(key)
            if key in self._groups:  # this thread may take another's turn first
                self._changed.notify()
                self._heavy.notify()

    def _answer(self, jobs: Sequence[Job]) -> Outcomes:
        started = perf_counter()
        outcomes = _outcomes(jobs)
        if len(jobs) == 1:
            self._costs.note(jobs[0].key, perf_counter() - started)
        return [(job.future, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]

    def _next(self, light: bool) -> list[Job]:
        """The next jobs of one key that somebody still waits for; none at all once stopped.

        Parameters
        ----------
        light : whether the thread also does what is light
        """
        wake = self._changed if light else self._heavy
        while True:
            with self._changed:
                while not self._closed and (key := self._first(light)) is None:
                    wake.wait()
                if self._closed:
                    return []
                now = perf_counter()
                jobs, late = self._pop(key, now)
                if jobs and jobs[0].whole:
                    self._whole.add(key)
            if late:
                _in_loop(late[0], _expire, *(job.future for job in late))
            if jobs:
                self.on_batch(_queries(jobs))
                for job in jobs:
                    job.trace.add("queue", now - job.submitted)
                return jobs

    def _first(self, light: bool) -> Hashable | None:
        """Whose turn it is, of the groups that such a thread may begin with."""
        light = light or not self._ready
        free = (key for key in self._groups if key not in self._whole)
        return next((key for key in free if light or not self._is_light(key)), None)

    def _is_light(self, key: Hashable | None) -> bool:
        return self._paces.of(key) < _LIGHT

    def _pop(self, key: Hashable, now: float) -> tuple[list[Job], list[Job]]:
        """Jobs of a key that are to be answered together, and those before them that would be answered too late."""
        group = self._groups.pop(key)
        pace = self._paces.of(key)
        most, end = self._most(group, pace), now
        if pace < inf:
            end += most * pace
        jobs, late, size = list[Job](), list[Job](), 0
        while group and (not jobs or size + group[0].size <= most):
            job = group.popleft()
            self._wait_for(-job.size)
            if job.future.done() or job.deadline <= now:
                continue
            if job.deadline < end:
                late.append(job)
            else:
                jobs.append(job)
                size += job.size
        if not jobs and late:
            jobs.append(late.pop())  # the estimate may be wrong, and is not put right by searching nothing
        if group:
            self._groups[key] = group  # behind the others, so that none of them starves
        return jobs, late

    def _most(self, group: deque[Job], pace: float) -> int:
        """Up to how many queries of a group are to be answered together."""
        first, size = group[0], 0
        for job in group:
            size += job.size
            if size >= self._together:
                break
        in_time = size if pace == inf else int(_SEARCHING * (first.deadline - first.submitted) / pace)
        return max(first.size, min(size, self._together, in_time))

    def _wait_for(self, more: int) -> None:
        self._waiting += more
        self.on_waiting(self._waiting)


def _ignore(count: int) -> None:
    """Nobody is told."""


def _never() -> bool:
    """Others may always be waiting."""
    return False


def _outcomes(jobs: Sequence[Job]) -> Sequence[Any]:
    try:
        return jobs[0].answer([job.item for job in jobs])
    except Exception as error:
        return [error] * len(jobs)


def _deliver(outcomes: Outcomes) -> None:
    for future, outcome in outcomes:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _expire(*futures: asyncio.Future[Any]) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(Problem("deadline_exceeded", "The request could not be answered in the time it has."))


def _in_loop(job: Job, function: Callable[..., None], *arguments: Any) -> None:
    # the loop is closed when the process ends in the middle of a search: then nobody waits any more
    with suppress(RuntimeError):
        job.future.get_loop().call_soon_threadsafe(function, *arguments)


def _queries(jobs: Sequence[Job]) -> int:
    return sum(job.size for job in jobs)
