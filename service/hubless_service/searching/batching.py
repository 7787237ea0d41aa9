"""One queue of searches. Those of equal keys that wait together are answered by one call.

The event loop decides, so nothing here needs a lock. There is no timer: what comes in one round of the event loop waits
together, and so does what comes while a search runs. A call that is cheaper than the way to a thread and back is made
in the event loop; the threads make the others. A search that takes all processors runs alone among those of its key,
and the others go with the next.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from math import ceil
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from hubless.search.engines.deadline import within
from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.waiting import Answer, Job, Reply, Taken, Waiting, queries_of

log = logging.getLogger("hubless.batching")

HOP = 0.0002
"""Seconds of both processors that it takes to hand jobs to a thread and their results back."""
SHORT = 0.001
"""Seconds that the event loop may be kept from other work."""


class Batcher:
    """Answers jobs, those of equal keys together, first come first served. In the event loop only, but for `stop`.

    Attributes
    ----------
    on_batch : called with the queries of each batch
    on_failure : called, perhaps in a search thread, when an answer has failed as no answer may
    """

    def __init__(
        self, threads: int, room: int, together: int, prepare: Callable[[], object], here: float = HOP
    ) -> None:
        """Make the threads, to be started.

        Parameters
        ----------
        threads : how many jobs or batches run at a time, beside the event loop
        room : how many queries may wait
        together : how many queries of several jobs may be answered by one call
        prepare : called once in each thread
        here : seconds a query up to which the event loop answers several that wait; longer ones only if nothing else
            waits
        """
        self.on_batch: Callable[[int], None] = lambda queries: None
        self.on_failure: Callable[[], None] = lambda: None
        self.threads = threads
        self._together = together
        self._prepare = prepare
        self._here = here
        self._waiting = Waiting(room, together, threads)
        self._idle = threads
        self._searched = 0  # queries that the threads search now
        self._handed: SimpleQueue[list[Job] | None] = SimpleQueue()  # jobs for a thread; None ends one
        self._turn_comes = self._closed = False
        # daemons, as a search cannot be interrupted and must not hold up the end of the process
        self._threads = [threading.Thread(target=self._serve, name=f"search-{i}", daemon=True) for i in range(threads)]

    def start(self) -> None:
        """Let the threads begin.

        Raises
        ------
        RuntimeError
            if the system allows no more threads; those that had begun end again.
        """
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError:
            self.stop()
            raise

    def stop(self) -> list[threading.Thread]:
        """Begin nothing more; the threads, which end when they have answered what they began. From any thread."""
        self._closed = True
        for _ in self._threads:
            self._handed.put(None)
        return [thread for thread in self._threads if thread.ident]

    @property
    def waiting(self) -> int:
        """How many queries wait."""
        return self._waiting.queries

    def check_room(self) -> None:
        """Raise `too_many_requests` if no more queries may wait."""
        self._waiting.check_room()

    def check_wait(self, trace: Trace, seconds: float) -> None:
        """Raise `too_many_requests` if a request that has some seconds in all would spend too many of them waiting."""
        self._waiting.check_wait(perf_counter(), trace.late, seconds)

    def submit(
        self, trace: Trace, deadline: float, answer: Answer, item: Any, key: Hashable = None, **how: Any
    ) -> asyncio.Future[Any]:
        """Queue one item as `put` does, and return a future of its result. Cancel it to take the item from the queue.

        Raises
        ------
        HttpProblem
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.put(future, trace, deadline, answer, item, key, **how)
        return future

    def put(
        self,
        reply: Reply,
        trace: Trace,
        deadline: float,
        answer: Answer,
        item: Any,
        key: Hashable = None,
        size: int = 1,
        *,
        here: bool = True,
        whole: bool = False,
    ) -> None:
        """Queue one item; without a key it is answered alone.

        Parameters
        ----------
        reply : gets the result; if it is done before, the item is taken from the queue
        here : whether it may be answered in the event loop, if those before it with its key were cheap
        whole : whether the search takes all processors: then one of its key runs at a time

        Raises
        ------
        HttpProblem
            `too_many_requests`. The reply gets `deadline_exceeded`, as soon as it is.
        """
        self._waiting.check_room()
        now = perf_counter()
        self._waiting.check_wait(now, trace.late, deadline - trace.started)
        loop = reply.get_loop()
        timer = loop.call_later(max(deadline - now, 0.0), _expire, reply)
        whole = whole and self._together > 1
        self._waiting.add(Job(key, answer, item, size, deadline, here, whole, trace, reply, now, timer))
        self._come_soon(loop)

    def _come_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._turn_comes:
            self._turn_comes = True
            loop.call_soon(self._take_turn, loop)

    def _take_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """When what has come by now is parsed: answer what is cheap, or hand jobs to all threads that are idle."""
        self._turn_comes = False
        if self._closed:
            return
        now = perf_counter()
        if cheap := self._waiting.take_cheap(now, SHORT, self._here):
            self._begin(cheap, now)
            if cheap.jobs:
                self._end(cheap.jobs, *self._answers(cheap.jobs))
            if self._waiting.queries:
                self._come_soon(loop)
            return
        self._hand_over(now)

    def _hand_over(self, now: float) -> None:
        """Hand jobs to all threads that are idle; of dear ones to none more than its share of all queries."""
        share = ceil((self._waiting.queries + self._searched) / self.threads)
        while self._idle and not self._closed and (taken := self._waiting.take(now, share)):
            self._begin(taken, now)
            if taken.jobs:
                self._idle -= 1
                self._searched += queries_of(taken.jobs)
                self._handed.put(taken.jobs)

    def _begin(self, taken: Taken, now: float) -> None:
        for job in taken.late:
            job.timer.cancel()
            _expire(job.future)
        for job in taken.jobs:
            job.trace.add("queue", now - job.submitted)

    def _serve(self) -> None:
        """Answer jobs until stopped."""
        try:
            self._prepare()
        except Exception:
            log.exception("a search thread runs with the settings of the process")
        while (jobs := self._handed.get()) and not self._closed:
            with within(max(job.deadline for job in jobs) - perf_counter()):
                answered = self._answers(jobs)
            with suppress(RuntimeError):  # the loop is closed when the process ends: then nobody waits any more
                loop = jobs[0].future.get_loop()
                loop.call_soon_threadsafe(self._return, loop, jobs, *answered)
            del jobs, answered  # while the thread waits, nothing of an old version is held

    def _return(
        self, loop: asyncio.AbstractEventLoop, jobs: list[Job], outcomes: Sequence[Any], seconds: float
    ) -> None:
        """Take what a thread has answered, which is idle now."""
        self._idle += 1
        self._searched -= queries_of(jobs)
        if jobs[0].whole:
            self._waiting.release(jobs[0].key)
        self._end(jobs, outcomes, seconds)
        self._come_soon(loop)

    def _answers(self, jobs: list[Job]) -> tuple[Sequence[Any], float]:
        """The outcome of each job, and how long the call took. Whatever happens in it, the thread goes on."""
        started = perf_counter()
        try:
            outcomes = jobs[0].answer([job.item for job in jobs])
            if len(outcomes) == len(jobs):
                return outcomes, perf_counter() - started
            failure: BaseException = ValueError(f"{len(jobs)} requests have {len(outcomes)} answers")
        except Exception as error:
            return [error] * len(jobs), perf_counter() - started
        except BaseException as error:
            failure = error
        log.error("a search thread has failed and goes on", exc_info=failure)
        self.on_failure()
        return [RuntimeError("a search thread has failed")] * len(jobs), perf_counter() - started

    def _end(self, jobs: list[Job], outcomes: Sequence[Any], seconds: float) -> None:
        """Give each job its outcome, and learn how long the call took."""
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.timer.cancel()
            _deliver(job.future, outcome)
        self._waiting.note(jobs, seconds)
        self.on_batch(queries_of(jobs))


def _expire(reply: Reply) -> None:
    if not reply.done():
        reply.set_exception(HttpProblem("deadline_exceeded", "The request could not be answered in the time it has."))


def _deliver(reply: Reply, outcome: Any) -> None:
    if reply.done():
        return
    if isinstance(outcome, StopIteration):  # which no future takes
        reply.set_exception(RuntimeError("an iterator has ended too soon"))
    elif isinstance(outcome, Exception):
        reply.set_exception(outcome)
    else:
        reply.set_result(outcome)
