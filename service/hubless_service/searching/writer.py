"""Writes points: a thread appends to the log what waits for one collection together."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from hubless.deadline import within
from hubless.errors import CollectionNotFound, HublessError, NotFoundError, StorageError
from hubless.kernels.threads import on_one_core
from hubless.search.transaction import Transaction, WritableCollection
from hubless.search.writes import Write
from hubless.store.log import most_open
from hubless_service.http.problems import HttpProblem, internal_error
from hubless_service.http.trace import Trace
from hubless_service.http.values import Json
from hubless_service.searching.log_follower import catch_up
from hubless_service.searching.shelf import REPLACED, Shelf
from hubless_service.searching.warm_threads import WarmThreads

_log = logging.getLogger("hubless.writes")

WritePlan = Callable[[Transaction], tuple[Write | None, Json]]
"""Given the collection as it is after the writes before: what to write, None for nothing, and what to answer."""
_TOGETHER = 64
"""Most writes that one transaction takes."""
_COLLECTIONS, _SHARE_WRITTEN = 16, 4
"""Most collections that are written to at once; of as many logs as may be open, one in so many."""
_MERGED_AFTER = "5"
"""Seconds. A merge of 50,000 small targets takes about as long; a client that waits longer leaves the server idle."""
_MERGE_POLL = 0.1


@dataclass(eq=False, slots=True)
class QueuedWrite:
    """A write that waits."""

    name: str  # of the collection
    points: int  # that it adds at most
    plan: WritePlan
    deadline: float  # on the clock of `perf_counter`; too late it is not begun
    durable: bool  # whether it is answered only when it is on the disk
    trace: Trace
    future: "asyncio.Future[Json]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    submitted: float = field(default_factory=perf_counter)
    begun: bool = False  # until then it is refused at its deadline


class Writer:
    """The threads that write, and the writes that wait for them."""

    def __init__(
        self,
        shelf: Shelf,
        room: int,
        most_added: int,
        prepare: Callable[[], object],
        failed: Callable[[], object] = lambda: None,
        written: Callable[[WritableCollection], object] = lambda living: None,
        replaced: Callable[[], object] = lambda: None,
        *,
        merges: bool = False,
    ) -> None:
        """`merges` says whether the service merges a collection by itself, so that it is worth to wait for it.

        `failed` hears of what a thread survives, `written` of each write, `replaced` of a version that is an old one.
        """
        self._merges = merges
        self._failed, self._written, self._replaced = failed, written, replaced
        self._shelf = shelf
        self._room = room
        self._most_added = most_added
        self._waiting: dict[str, deque[QueuedWrite]] = {}  # for each collection that a thread writes to
        self._lock = threading.Lock()
        self._stopped = False
        # each takes some descriptors
        self._threads = WarmThreads(min(_COLLECTIONS, most_open() // _SHARE_WRITTEN), "write", prepare)

    def start(self) -> None:
        """Start the threads."""
        self._threads.start()

    def stop(self) -> list[threading.Thread]:
        """Write what waits, and nothing more. Return the threads that do."""
        with self._lock:
            self._stopped = True
        return self._threads.stop()

    async def write(
        self, trace: Trace, name: str, points: int, plan: WritePlan, deadline: float, *, durable: bool = True
    ) -> Json:
        """Write, and return what the plan answers, with the number of the write.

        Waits for a merge that is due, as long as there is time. Raises the problem or the error of the plan.
        """
        while True:
            try:
                return await self._queued(QueuedWrite(name, points, plan, deadline, durable, trace))
            except HttpProblem as problem:
                if problem.code != "merge_needed" or not self._merges or perf_counter() + _MERGE_POLL > deadline:
                    raise
            await asyncio.sleep(_MERGE_POLL)

    async def _queued(self, task: QueuedWrite) -> Json:
        """Have a write wait for its turn, and return its answer. Raises a problem if it is not begun in time."""
        name = task.name
        with self._lock:
            if self._stopped:
                raise HttpProblem("not_ready", "The server is stopping.")
            if name not in self._waiting:
                self._threads.submit(partial(self._write_all, name))
            waiting = self._waiting.setdefault(name, deque())
            if len(waiting) >= self._room:
                raise HttpProblem("too_many_requests", f"{len(waiting)} writes wait already.")
            waiting.append(task)
        timer = task.future.get_loop().call_later(task.deadline - perf_counter(), self._expire, task)
        try:
            # a client that hangs up does not stop a write
            return await asyncio.shield(task.future)
        finally:
            timer.cancel()

    def _expire(self, task: QueuedWrite) -> None:
        """Refuse a write that was not begun in time: whoever takes it from now on passes it over."""
        with self._lock:
            if not (task.begun or task.future.done()):
                task.future.set_exception(_too_late())
                with suppress(KeyError, ValueError):  # it is taken
                    self._waiting[task.name].remove(task)

    def _write_all(self, name: str) -> None:
        """Write what waits for a collection until nothing does. Searches have the other cores."""
        with on_one_core():
            while True:
                with self._lock:
                    waiting = self._waiting[name]
                    tasks = [waiting.popleft() for _ in range(min(len(waiting), _TOGETHER))]
                    if not tasks:
                        del self._waiting[name]
                        return
                now = perf_counter()
                for task in tasks:
                    task.trace.add("queue", now - task.submitted)
                self._attempt(tasks)

    def _attempt(self, tasks: list[QueuedWrite]) -> None:
        """Write tasks in one transaction. If one of them is wrong, write each half by itself, down to the wrong one."""
        failure: Exception
        try:
            self._write(tasks)
        except REPLACED as error:
            self._replaced()
            failure = error
        except (StorageError, NotFoundError, HttpProblem, MemoryError) as error:
            _log.error('collection "%s": nothing was written: %s', tasks[0].name, error)
            failure = error
        except Exception as error:
            if half := len(tasks) // 2:
                self._attempt(tasks[:half])
                self._attempt(tasks[half:])
                return
            failure = error
            if not isinstance(error, HublessError):
                _log.exception('collection "%s": nothing was written', tasks[0].name)
                self._failed()
                failure = internal_error()
        else:
            return
        _resolve([(task, failure.with_traceback(None)) for task in tasks])

    def _write(self, tasks: list[QueuedWrite]) -> None:
        """Write all tasks in one transaction, or none: a task whose plan is refused gets its error as the answer."""
        name = tasks[0].name
        if (slot := self._shelf.slots.get(name)) is None:
            raise CollectionNotFound(f'There is no collection "{name}" any more.')
        if (living := slot.living) is None:
            raise HttpProblem("not_ready", "The collection is not served any more.")
        if living.log is None:
            raise HttpProblem("storage", "The collection has no folder, so it cannot be written to.")
        answers: list[tuple[QueuedWrite, Json | Exception]] = []
        durable = any(task.durable for task in tasks)
        with living.log.writing(durable=durable, inside=living.changing) as appender:
            if appender.last != living.current.parts.seq:
                living.catch_up()
            transaction = living.begin()
            with self._lock:
                # without those that were refused while another process held the log
                tasks = [task for task in tasks if not task.future.done()]
                for task in tasks:
                    task.begun = True
            for task in tasks:
                try:
                    write, document = self._planned(task, transaction)
                except (HttpProblem, HublessError) as error:
                    answers.append((task, error.with_traceback(None)))
                    continue
                if write is not None:
                    transaction.check(write)
                    transaction.add(appender.add(write.kind, write.encode()), write)
                answers.append((task, {"seq": appender.last, **document}))
            transaction.collection()  # what fails here fails before anything is on the disk
            appender.commit()
            living.commit(transaction)
        self._written(living)
        following = self._shelf.known(name).living
        if following is not None and following is not living:
            catch_up(following)  # another version took its place meanwhile
        _resolve(answers)

    def _planned(self, task: QueuedWrite, transaction: Transaction) -> tuple[Write | None, Json]:
        """Return the writes of a task, and its answer."""
        now = perf_counter()
        if now > task.deadline:
            raise _too_late()
        if task.points and transaction.added + task.points > self._most_added:
            detail = (
                f"{transaction.added} points stand beside the index, and at most {self._most_added} may: merge them."
            )
            raise HttpProblem("merge_needed", detail, headers={"Retry-After": _MERGED_AFTER})
        with within(task.deadline - now):
            return task.plan(transaction)


def _too_late() -> HttpProblem:
    return HttpProblem("deadline_exceeded", "The time was over before it was written.")


def _resolve(answers: list[tuple[QueuedWrite, Json | Exception]]) -> None:
    def resolve() -> None:
        for task, result in answers:
            if task.future.done():
                continue
            if isinstance(result, Exception):
                task.future.set_exception(result)
            else:
                task.future.set_result(result)

    with suppress(IndexError, RuntimeError):  # there are none, or the loop is closed
        answers[0][0].future.get_loop().call_soon_threadsafe(resolve)
