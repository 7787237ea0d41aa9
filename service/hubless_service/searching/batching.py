"""One queue of searches. Those of equal keys that wait together are answered by one call.

There is no timer. What comes in one round of the event loop waits together, and so does what comes while a search
runs. A call that is cheaper than the way to a thread and back is made in the event loop; the threads make the others. A
search that takes all processors runs alone among those of its key, and the others go with the next.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from time import perf_counter, sleep
from typing import Any

from hubless_service.http.trace import Trace
from hubless_service.searching.deadlines import Deadlines, expire
from hubless_service.searching.waiting import Answer, Job, Taken, Waiting, queries_of

log = logging.getLogger("hubless.batching")

Outcomes = Sequence[tuple[asyncio.Future[Any], Any]]
HOP = 0.0002
"""Seconds of both processors that it takes to hand jobs to a thread and their results back."""
SHORT = 0.001
"""Seconds that the event loop may be kept from other work."""
# of the event loop: in the first the answers are written, in the second the next requests read, in the third parsed
_ROUNDS = 3
_AFTER_FAILURE = 0.1  # seconds until a thread that could not even take a job tries again


class Batcher:
    """Answers jobs, those of equal keys together, first come first served.

    Attributes
    ----------
    on_batch, on_waiting : called with the queries of each batch, and with those that wait
    on_failure : called when a thread has survived an error of our own
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
        self.on_batch: Callable[[int], None] = _ignore
        self.on_waiting: Callable[[int], None] = _ignore
        self.on_failure: Callable[[], None] = _nothing
        self.threads = threads
        self._together = together
        self._prepare = prepare
        self._here = here
        self._waiting = Waiting(room, together, threads)
        self._deadlines = Deadlines()
        self._changed = threading.Condition(threading.Lock())
        self._turn_comes = False
        self._told = 0  # how many wait, as was said last
        self._closed = False
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
        """Begin nothing more; the threads, which end when they have answered what they began."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
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
        a future of its result; cancel it to take the item from the queue

        Raises
        ------
        Problem
            `too_many_requests`; from the future `deadline_exceeded`, as soon as it is.
        """
        self._waiting.check_room()
        now = perf_counter()
        self._waiting.check_wait(now, trace.late, deadline - trace.started)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._deadlines.add(future, deadline, now)
        with self._changed:
            self._waiting.add(
                Job(key, answer, item, size, deadline, here, whole and self._together > 1, trace, future, now)
            )
        self._come_soon()
        return future

    def _take_turn(self) -> None:
        """In the event loop, when what has come by now is parsed: answer what is cheap, and leave the rest."""
        self._turn_comes = False
        with self._changed:
            cheap = None if self._closed else self._waiting.take_cheap(perf_counter(), SHORT, self._here)
            self._tell()
            if cheap is None:
                self._changed.notify()
                return
            others = self._waiting.queries > 0
        if others:
            self._come_soon()
        expire(*(job.future for job in cheap.late))
        if cheap.jobs:
            try:
                self._deliver_all(self._outcomes_of(cheap))
            except BaseException as error:
                self._survive(cheap, error)

    def _come_soon(self) -> None:
        if not self._turn_comes:
            self._turn_comes = True
            asyncio.get_running_loop().call_soon(self._take_turn)

    def _tell(self) -> None:
        """Say how many wait, with the lock held: or an older number could be told after a newer one."""
        if self._told != self._waiting.queries:
            self._told = self._waiting.queries
            self.on_waiting(self._told)

    def _serve(self) -> None:
        """Answer jobs until stopped. No exception ends the thread, as its share of the requests would wait for ever."""
        try:
            self._prepare()
        except Exception:
            log.exception("a search thread runs with the settings of the process")
        while not self._closed:
            taken = Taken([], [])
            try:
                taken = self._take()
                self._do(taken)
            except BaseException as error:
                self._survive(taken, error)
            del taken  # while the thread waits, nothing of an old version is held

    def _take(self) -> Taken:
        """Wait for jobs and take them; no jobs once stopped."""
        with self._changed:
            while not self._closed:
                if taken := self._waiting.take(perf_counter()):
                    if self._waiting.queries:
                        self._changed.notify()
                    return taken
                self._changed.wait()
        return Taken([], [])

    def _do(self, taken: Taken) -> None:
        """Answer the jobs that were taken, and refuse the late ones."""
        jobs, late = taken
        with self._changed:
            self._tell()
        if late:
            _in_loop(late[0], expire, *(job.future for job in late))
        if not jobs:
            return
        outcomes = self._outcomes_of(taken)
        if jobs[0].whole:
            _in_loop(jobs[0], self._deliver_whole, jobs[0].key, outcomes)
        else:
            _in_loop(jobs[0], self._deliver_all, outcomes)

    def _outcomes_of(self, taken: Taken) -> Outcomes:
        """Answer jobs, and learn how long it took."""
        jobs, started = taken.jobs, perf_counter()
        self.on_batch(queries_of(jobs))
        for job in jobs:
            job.trace.add("queue", started - job.submitted)
        outcomes = _answers(jobs)
        with self._changed:
            self._waiting.note(jobs, perf_counter() - started)
        return [(job.future, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]

    def _survive(self, taken: Taken, error: BaseException) -> None:
        """Answer the jobs with an error of ours, which is counted, and let others of their key begin."""
        log.error("a search thread has failed and goes on", exc_info=error)
        self.on_failure()
        if not taken.jobs:
            sleep(_AFTER_FAILURE)
            return
        first = taken.jobs[0]
        failure = RuntimeError("a search thread has failed")
        _in_loop(first, self._deliver_all, [(job.future, failure) for job in taken.jobs])
        if first.whole:
            self._release(first.key)

    def _deliver_all(self, outcomes: Outcomes) -> None:
        for future, outcome in outcomes:
            self._deadlines.remove(future)
            _deliver(future, outcome)

    def _deliver_whole(self, key: Hashable, outcomes: Outcomes) -> None:
        """In the event loop: deliver. The next of the key begins when clients that ask again at once have done so."""
        try:
            self._deliver_all(outcomes)
        finally:
            self._release_after(_ROUNDS, asyncio.get_running_loop(), key)

    def _release_after(self, rounds: int, loop: asyncio.AbstractEventLoop, key: Hashable) -> None:
        if rounds:
            loop.call_soon(self._release_after, rounds - 1, loop, key)
        else:
            self._release(key)

    def _release(self, key: Hashable) -> None:
        """Let another search that takes all processors begin."""
        with self._changed:
            if self._waiting.release(key):
                self._changed.notify()


def _ignore(count: int) -> None:
    """Nobody is told."""


def _nothing() -> None:
    """Nobody is told."""


def _answers(jobs: Sequence[Job]) -> Sequence[Any]:
    try:
        return jobs[0].answer([job.item for job in jobs])
    except Exception as error:
        return [error] * len(jobs)


def _deliver(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():
        return
    if isinstance(outcome, StopIteration):  # which no future takes
        future.set_exception(RuntimeError("an iterator has ended too soon"))
    elif isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _in_loop(job: Job, function: Callable[..., None], *arguments: Any) -> None:
    # the loop is closed when the process ends in the middle of a search: then nobody waits any more
    with suppress(RuntimeError):
        job.future.get_loop().call_soon_threadsafe(function, *arguments)
