"""The jobs that wait for a search thread, and the rules by which they are taken or refused.

Jobs of one key are taken together, first come first served. Where more waits than can be answered, a batch is made so
small that it ends in time, and only of jobs that have the time. Otherwise all answers would come too late.

There is no clock here: the caller passes the time.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, Protocol

from hubless_service.http.problems import RETRY_AFTER, HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.costs import Costs

# answers items in their order, each with its result, or with an exception that is its own
Answer = Callable[[Sequence[Any]], Sequence[Any]]
DEAR = 0.001
"""Seconds a query from which on searching takes so much of the time that all threads should have as much to do."""
_WEIGHT = 0.3  # of the last search in the pace: one that was slow for once is soon forgotten
# shares of the time that a request has: for the search itself, and for waiting; the rest is for the way
_SEARCHING, _WAITING = 0.5, 0.3


class Reply(Protocol):
    """What a request waits with: a future of asyncio, or what does as one. In the event loop only."""

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which it is used."""

    def done(self) -> bool:
        """Whether it has its answer, or nobody waits for one."""

    def set_result(self, result: Any, /) -> None:
        """Give it its answer. It is not done yet."""

    def set_exception(self, exception: Exception, /) -> None:
        """Give it the reason why it has none. It is not done yet."""


@dataclass(eq=False, slots=True)
class Job:
    """What one request waits for.

    Attributes
    ----------
    key : jobs of equal keys can be answered by one call; one without a key is answered alone
    answer : answers items
    item : what is asked
    size : how many queries it is
    deadline : on the clock of `submitted`
    here : whether it may be answered in the event loop
    whole : whether the search takes all processors, so that two of this key would only slow each other down
    trace : of the request
    future : gets the answer; a job that has one already is not taken
    submitted : when it began to wait
    timer : ends the request at its deadline
    work : seconds that a thread is expected to need for it, told when it begins to wait
    """

    key: Hashable | None
    answer: Answer
    item: Any
    size: int
    deadline: float
    here: bool
    whole: bool
    trace: Trace
    future: Reply
    submitted: float
    timer: asyncio.TimerHandle
    work: float = 0.0


class Taken(NamedTuple):
    """Jobs to be answered by one call, and jobs before them that would be answered too late."""

    jobs: list[Job]
    late: list[Job]


class Waiting:
    """The jobs that wait, in groups of equal keys.

    Attributes
    ----------
    queries : how many queries wait
    """

    def __init__(self, room: int, together: int, threads: int) -> None:
        """Begin with none.

        Parameters
        ----------
        room : how many queries may wait
        together : most queries of several jobs that are taken at once
        threads : how many threads take jobs
        """
        self.queries = 0
        self._room = room
        self._together = together
        self._threads = threads
        self._groups: dict[Hashable, deque[Job]] = {}
        self._in_order: OrderedDict[Job, None] = OrderedDict()  # all of them, the first to come first
        self._oldest = inf  # when that one came
        self._running: set[Hashable] = set()  # keys of searches that take all processors now
        self._paces = Costs(_WEIGHT)  # seconds a query, by key
        self._work = 0.0  # of all that wait

    def check_room(self) -> None:
        """Raise `too_many_requests` if no more queries may wait."""
        if self.queries >= self._room:
            detail = f"{self.queries} queries wait to be searched already."
            raise HttpProblem("too_many_requests", detail, headers=RETRY_AFTER)

    def check_wait(self, now: float, late: float, seconds: float) -> None:
        """Raise `too_many_requests` if one more job would wait for too large a share of its time.

        Parameters
        ----------
        late : seconds that the request has waited to be read
        seconds : that the request has in all
        """
        wait = late
        if self.queries:
            # as long as those need that wait already, and no less than the first of them has waited
            wait += max(now - self._oldest, self._work / self._threads)
        if wait > max(0.0, _WAITING * seconds):
            detail = f"It would wait for about {wait:.2g} seconds to be searched, and has {seconds:.2g} in all."
            raise HttpProblem("too_many_requests", detail, headers=RETRY_AFTER)

    def add(self, job: Job) -> None:
        """Have a job wait."""
        self._groups.setdefault(object() if job.key is None else job.key, deque()).append(job)
        self._in_order[job] = None
        pace = self._paces.of(job.key)
        job.work = job.size * (self._paces.usual if pace == inf else pace) * (self._threads if job.whole else 1)
        self._count(job.size, job.work)

    def take(self, now: float, share: int | None = None) -> Taken | None:
        """Take the jobs whose turn it is; None if there are none.

        Jobs that nobody waits for any more are dropped; both lists may be empty then.

        Parameters
        ----------
        share : the most queries to take of dear ones; more only of one job, or if a search takes all processors
        """
        key = next((key for key in self._groups if key not in self._running), None)
        if key is None:
            return None
        taken = self._pop(key, now, share=share)
        if taken.jobs and taken.jobs[0].whole:
            self._running.add(key)
        return taken

    def take_cheap(self, now: float, seconds: float, each: float) -> Taken | None:
        """Take the jobs whose turn it is, if they are known to be cheap and may be answered in the event loop.

        Parameters
        ----------
        seconds : that all of them may take
        each : seconds that a query may take, if others wait too
        """
        key = next(iter(self._groups), None)
        if key is None:
            return None
        first, pace = self._groups[key][0], self._paces.of(key)
        dear = pace > each and first.size < self.queries
        if dear or not first.here or first.whole or first.size * pace > seconds:
            return None
        return self._pop(key, now, min(self._together, int(seconds / pace)))

    def release(self, key: Hashable) -> None:
        """Let the next search of a key that takes all processors begin."""
        self._running.discard(key)

    def note(self, jobs: Sequence[Job], seconds: float) -> None:
        """Learn how long a call took that answered some jobs."""
        self._paces.note(jobs[0].key, seconds / queries_of(jobs))

    def _pop(self, key: Hashable, now: float, most: int | None = None, share: int | None = None) -> Taken:
        group = self._groups.pop(key)
        pace = self._paces.of(key)
        most, end = most or self._most(group, pace, share), now
        if pace < inf:
            end += most * pace
        jobs, late, size = list[Job](), list[Job](), 0
        while group and (not jobs or size + group[0].size <= most):
            job = group.popleft()
            del self._in_order[job]
            self._count(-job.size, -job.work)
            if job.future.done():
                job.timer.cancel()
            elif job.deadline <= now:
                pass  # its timer ends it
            elif job.deadline < end:
                late.append(job)
            else:
                jobs.append(job)
                size += job.size
        if not jobs and late:
            jobs.append(late.pop())  # the estimate may be wrong, and only a search can put it right
        if group:
            self._groups[key] = group  # behind the others, so that none of them starves
        return Taken(jobs, late)

    def _most(self, group: deque[Job], pace: float, share: int | None) -> int:
        """Up to how many queries of a group to take together."""
        first, size = group[0], 0
        for job in group:
            size += job.size
            if size >= self._together:
                break
        if share and not first.whole and DEAR <= pace < inf:
            size = min(size, share)
        in_time = size if pace == inf else int(_SEARCHING * (first.deadline - first.submitted) / pace)
        return max(first.size, min(size, self._together, in_time))

    def _count(self, queries: int, work: float) -> None:
        self._oldest = next(iter(self._in_order)).submitted if self._in_order else inf
        self.queries += queries
        self._work = self._work + work if self.queries else 0.0


def queries_of(jobs: Sequence[Job]) -> int:
    """How many queries some jobs are together."""
    return sum(job.size for job in jobs)
