"""The search threads. Requests that arrive while a search runs wait together, and go as the next batch.

There is no timer: an idle thread takes a request at once, and a busy one makes the batch by being busy. A search that
reads all vectors takes all threads; one of its kind runs at a time, and the others go with the next. A search that
takes less time than the way to a thread and back is answered in the event loop, if the loop has nothing else to do.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from time import perf_counter, sleep
from typing import Any

from hubless_service.http.problems import Problem
from hubless_service.http.trace import Trace
from hubless_service.searching.costs import Costs
from hubless_service.searching.waiting import Answer, Job, Taken, Waiting, queries_of

log = logging.getLogger("hubless.batching")

Outcomes = Sequence[tuple[asyncio.Future[Any], Any]]
_CHEAP = 0.001  # seconds for which the event loop may be kept from other work, if there is none
# of the event loop: in the first the answers are written, in the second the next requests read, in the third parsed
_ROUNDS = 3
_ENOUGH = 32  # queries that are not worth waiting for more
_AFTER_FAILURE = 0.1  # seconds until a thread that could not even take a job tries again


class Batcher:
    """Threads that answer jobs, those of equal keys together, first come first served.

    Attributes
    ----------
    on_batch, on_waiting : called with the queries of each batch, and with those that wait
    on_failure : called when a thread has survived an error of our own
    alone : says whether the event loop has nothing else to do
    """

    def __init__(
        self, threads: int, room: int, together: int, prepare: Callable[[], object], light: int | None = None
    ) -> None:
        """Make the threads, to be started.

        Parameters
        ----------
        threads : how many jobs or batches run at a time
        light : how many threads take jobs that need little time; the event loop has as much to do for such a job, and
            needs a processor of its own; by default all
        room : how many queries may wait
        together : how many queries of several jobs may be answered by one call
        prepare : called once in each thread
        """
        self.on_batch: Callable[[int], None] = _ignore
        self.on_waiting: Callable[[int], None] = _ignore
        self.on_failure: Callable[[], None] = _nothing
        self.alone: Callable[[], bool] = _never
        self.threads = threads
        self._together = together
        self._prepare = prepare
        self._costs = Costs()  # of requests that were answered alone
        self._waiting = Waiting(room, together, threads)
        lock = threading.Lock()
        self._changed, self._heavy = threading.Condition(lock), threading.Condition(lock)
        self._closed = False
        # the same threads take all that is light, as they have it in their caches
        some = threads if light is None else light
        self._ready = some  # of those, the ones that do nothing heavy now
        # daemons, as a search cannot be interrupted and must not hold up the end of the process
        self._threads = [
            threading.Thread(target=self._serve, args=[i < some], name=f"search-{i}", daemon=True)
            for i in range(threads)
        ]

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
            self._heavy.notify_all()
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
            self._waiting.add(job)
            self._changed.notify()
            if not self._ready or not self._waiting.is_light(key):
                self._heavy.notify()
            self.on_waiting(self._waiting.queries)
        return future

    def _serve(self, light: bool) -> None:
        """Answer jobs until stopped. No exception ends the thread, as its share of the requests would wait for ever."""
        try:
            self._prepare()
        except Exception:
            log.exception("a search thread runs with the settings of the process")
        while not self._closed:
            taken = Taken([], [])
            try:
                taken = self._take(light)
                self._do(taken, light)
            except BaseException as error:
                self._survive(taken, error)
            del taken  # while the thread waits, nothing of an old version is held

    def _take(self, light: bool) -> Taken:
        """Wait for jobs and take them; no jobs once stopped.

        Parameters
        ----------
        light : whether the thread also takes light jobs
        """
        wake = self._changed if light else self._heavy
        with self._changed:
            while not self._closed:
                heavy_only = not light and self._ready > 0
                if taken := self._waiting.take(perf_counter(), heavy_only=heavy_only):
                    return taken
                wake.wait()
        return Taken([], [])

    def _do(self, taken: Taken, light: bool) -> None:
        """Answer the jobs that were taken, and refuse the late ones."""
        jobs, late = taken
        with self._changed:  # or an older number could be told after a newer one
            self.on_waiting(self._waiting.queries)
        if late:
            _in_loop(late[0], _expire, *(job.future for job in late))
        if not jobs:
            return
        started = perf_counter()
        self.on_batch(queries_of(jobs))
        for job in jobs:
            job.trace.add("queue", started - job.submitted)
        away = light and not self._waiting.is_light(jobs[0].key)
        if away:
            self._leave(1)
        try:
            outcomes = self._answer(jobs)
            with self._changed:
                self._waiting.note(jobs, perf_counter() - started)
        finally:
            if away:
                self._leave(-1)
        if jobs[0].whole:
            _in_loop(jobs[0], self._deliver_whole, jobs[0].key, outcomes)
        else:
            _in_loop(jobs[0], _deliver, outcomes)

    def _survive(self, taken: Taken, error: BaseException) -> None:
        """Answer the jobs with an error of ours, which is counted, and let others of their key begin."""
        log.error("a search thread has failed and goes on", exc_info=error)
        self.on_failure()
        if not taken.jobs:
            sleep(_AFTER_FAILURE)
            return
        first = taken.jobs[0]
        failure = RuntimeError("a search thread has failed")
        _in_loop(first, _deliver, [(job.future, failure) for job in taken.jobs])
        if first.whole:
            self._release(first.key)

    def _leave(self, threads: int) -> None:
        """Note that so many more of the threads for light jobs are at something heavy; others do their part then."""
        with self._changed:
            self._ready -= threads
            if not self._ready:
                self._heavy.notify()

    def _deliver_whole(self, key: Hashable, outcomes: Outcomes) -> None:
        """In the event loop: deliver. The next of the key begins when clients that ask again at once have done so."""
        try:
            _deliver(outcomes)
        finally:
            with self._changed:
                waiting = self._waiting.waiting_of(key)
            self._release_after(0 if waiting >= _ENOUGH else _ROUNDS, asyncio.get_running_loop(), key)

    def _release_after(self, rounds: int, loop: asyncio.AbstractEventLoop, key: Hashable) -> None:
        if rounds:
            loop.call_soon(self._release_after, rounds - 1, loop, key)
        else:
            self._release(key)

    def _release(self, key: Hashable) -> None:
        """Let another search that takes all processors begin."""
        with self._changed:
            if self._waiting.release(key):  # this thread may take another's turn first
                self._changed.notify()
                self._heavy.notify()

    def _answer(self, jobs: Sequence[Job]) -> Outcomes:
        started = perf_counter()
        outcomes = _outcomes(jobs)
        if len(jobs) == 1:
            self._costs.note(jobs[0].key, perf_counter() - started)
        return [(job.future, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]


def _ignore(count: int) -> None:
    """Nobody is told."""


def _nothing() -> None:
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
        if isinstance(outcome, StopIteration):  # which no future takes
            future.set_exception(RuntimeError("an iterator has ended too soon"))
        elif isinstance(outcome, Exception):
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
