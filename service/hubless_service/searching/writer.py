"""Writes points: a thread appends to the log what waits for one collection together.

A write is answered when it is on the disk and this process serves it. The other workers follow its log. One thread at a
time writes to a collection, and there are as many as collections are written to at once: a collection whose log another
process holds keeps no other one waiting.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from hubless.errors import HublessError, NotFoundError, StorageError
from hubless.search.delta.writes import Write
from hubless.search.engines.deadline import within
from hubless.search.transaction import Transaction, WritableCollection
from hubless_service.http.problems import RETRY_AFTER, HttpProblem, internal_error
from hubless_service.http.trace import Trace
from hubless_service.searching.catalog_follower import REPLACED, follow
from hubless_service.searching.shelf import Shelf

log = logging.getLogger("hubless.writes")

Plan = Callable[[Transaction], tuple[Write | None, dict[str, Any]]]
"""Given the collection as it is after the writes before: what to write, None for nothing, and what to answer."""
_TOGETHER = 64
"""Most writes that one transaction takes."""


@dataclass(eq=False, slots=True)
class QueuedWrite:
    """A write that waits.

    Attributes
    ----------
    name : of the collection
    points : how many targets it adds at most
    plan : see `Plan`
    deadline : on the clock of `perf_counter`; too late it is not begun
    trace : of the request
    future : of the answer
    durable : whether it is answered only when it is on the disk
    begun : whether it is being written; until then it is refused at its deadline
    """

    name: str
    points: int
    plan: Plan
    deadline: float
    trace: Trace
    future: "asyncio.Future[dict[str, Any]]"
    submitted: float
    durable: bool = True
    begun: bool = False


class Writer:
    """The threads that write, and the writes that wait for them."""

    def __init__(self, shelf: Shelf, room: int, most_added: int, prepare: Callable[[], object]) -> None:
        """Make the first thread, to be started.

        Parameters
        ----------
        room : how many writes may wait for one collection
        most_added : most targets that may stand beside the index of a collection
        prepare : called once in each thread
        """
        self.on_failure: Callable[[], None] = lambda: None
        self.on_replaced: Callable[[], None] = lambda: None
        self._shelf = shelf
        self._room = room
        self._most_added = most_added
        self._prepare = prepare
        self._waiting: deque[QueuedWrite] = deque()
        self._writing: set[str] = set()  # the collections that a thread writes to now
        self._changed = threading.Condition()
        self._stopped = False
        self._idle = 0
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Let the first thread begin."""
        self._add_thread()

    def stop(self) -> list[threading.Thread]:
        """Write what waits, and take nothing more. Return the threads that run."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            return list(self._threads)

    async def write(
        self, trace: Trace, name: str, points: int, plan: Plan, deadline: float, *, durable: bool = True
    ) -> dict[str, Any]:
        """Write, and return what the plan answers, with the number of the write.

        Raises
        ------
        HttpProblem
            `too_many_requests`, `not_ready`, `deadline_exceeded`, `merge_needed`, and whatever the plan raises.
        StorageError
            if the disk refuses. Nothing of the write is served then.
        """
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        with self._changed:
            if self._stopped:
                raise HttpProblem("not_ready", "The server is stopping.", headers=RETRY_AFTER)
            waiting = sum(task.name == name for task in self._waiting)
            if waiting >= self._room:
                raise HttpProblem("too_many_requests", f"{waiting} writes wait already.", headers=RETRY_AFTER)
            task = QueuedWrite(name, points, plan, deadline, trace, future, perf_counter(), durable)
            self._waiting.append(task)
            self._wake()
        ending = asyncio.get_running_loop().call_later(deadline - perf_counter(), self._give_up, task)
        try:
            # a client that hangs up does not stop a write that has begun
            return await asyncio.shield(future)
        finally:
            if future.done():
                ending.cancel()

    def _give_up(self, task: QueuedWrite) -> None:
        """Refuse a write whose time is over, unless it has begun."""
        with self._changed:
            if task.begun or task.future.done():
                return
            if task in self._waiting:
                self._waiting.remove(task)
            task.future.set_exception(HttpProblem("deadline_exceeded", "The time was over before it was written."))
            task.future.exception()  # seen, also if its client has hung up

    def _wake(self) -> None:
        """Have a thread take what waits. The lock is held."""
        if self._first() is None:
            return
        if self._idle:
            self._changed.notify()
        else:
            self._add_thread()

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="write", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        self._prepare()
        while self._write_next():
            pass

    def _write_next(self) -> bool:
        """Write what waits for one collection, or wait for it; False once it is stopped and nothing waits."""
        # a function of its own: its variables must not hold a version while the thread waits
        if not (tasks := self._next()):
            return False
        now = perf_counter()
        for task in tasks:
            task.trace.add("queue", now - task.submitted)
        try:
            self._attempt(tasks)
        finally:
            with self._changed:
                self._writing.discard(tasks[0].name)
        return True

    def _attempt(self, tasks: list[QueuedWrite]) -> None:
        """Write some tasks in one transaction. If that fails, write each half by itself, down to single writes.

        So an error that shows late, in the offsets or in SQLite, refuses only the write that causes it. An error of
        the disk or of the collection refuses all: no other write would fare better.
        """
        try:
            self._write(tasks)
        except REPLACED as error:
            self.on_replaced()
            _fail(tasks, error.with_traceback(None))
        except (StorageError, NotFoundError, HttpProblem) as error:
            log.error('collection "%s": nothing was written: %s', tasks[0].name, error)  # noqa: TRY400
            _fail(tasks, error.with_traceback(None))
        except Exception as error:
            if half := len(tasks) // 2:
                self._attempt(tasks[:half])
                self._attempt(tasks[half:])
            elif isinstance(error, HublessError):
                _fail(tasks, error.with_traceback(None))
            else:
                log.exception('collection "%s": nothing was written', tasks[0].name)
                self.on_failure()
                _fail(tasks, internal_error())

    def _first(self) -> str | None:
        """The collection that has waited longest, of those to which no thread writes now."""
        return next((task.name for task in self._waiting if task.name not in self._writing), None)

    def _next(self) -> list[QueuedWrite]:
        """Wait for the writes of the collection that has waited longest; none once it is stopped and nothing waits."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._stopped or self._first() is not None)
            self._idle -= 1
            if (name := self._first()) is None:
                return []
            found = [task for task in self._waiting if task.name == name][:_TOGETHER]
            taken = set(map(id, found))
            self._waiting = deque(task for task in self._waiting if id(task) not in taken)
            self._writing.add(name)
            self._wake()  # for another collection, if this one keeps the thread
            return found

    def _write(self, tasks: list[QueuedWrite]) -> None:
        living = self._living(tasks[0].name)
        if living.log is None:
            raise HttpProblem("storage", "The collection has no folder, so it cannot be written to.")
        answers: list[tuple[QueuedWrite, dict[str, Any] | Exception]] = []
        durable = any(task.durable for task in tasks)
        with living.log.writing(durable=durable, inside=living.changing) as appender:
            living.catch_up()
            transaction = living.begin()
            for task in self._begin(tasks):
                try:
                    write, document = self._planned(task, transaction)
                except (HttpProblem, HublessError) as error:
                    answers.append((task, error.with_traceback(None)))
                    continue
                if write is not None:
                    transaction.check(write)
                    transaction.add(appender.add(write.kind, write.encode()), write)
                answers.append((task, {"seq": appender.last, **document}))
            transaction.state()  # what fails here fails before anything is on the disk
            appender.commit()
            living.commit(transaction)
        following = self._shelf.known(tasks[0].name).living
        if following is not None and following is not living:
            follow(following)  # another version took its place meanwhile
        for task, answer in answers:
            _resolve(task, answer)

    def _begin(self, tasks: list[QueuedWrite]) -> list[QueuedWrite]:
        """Begin the writes that were not refused at their deadline while another process held the log."""
        with self._changed:
            begun = [task for task in tasks if not task.future.done()]
            for task in begun:
                task.begun = True
            return begun

    def _planned(self, task: QueuedWrite, transaction: Transaction) -> tuple[Write | None, dict[str, Any]]:
        """Return the writes of a task, and its answer."""
        now = perf_counter()
        if now > task.deadline:
            raise HttpProblem("deadline_exceeded", "The time was over before it was written.")
        if task.points and transaction.added + task.points > self._most_added:
            detail = (
                f"{transaction.added} points stand beside the index, and at most {self._most_added} may: merge them."
            )
            raise HttpProblem("merge_needed", detail, headers={"Retry-After": "60"})
        with within(task.deadline - now):
            return task.plan(transaction)

    def _living(self, name: str) -> WritableCollection:
        living = self._shelf.known(name).living
        if living is None:
            raise HttpProblem("not_ready", "The collection is not served any more.", headers=RETRY_AFTER)
        return living


def _fail(tasks: list[QueuedWrite], error: Exception) -> None:
    for task in tasks:
        _resolve(task, error)


def _resolve(task: QueuedWrite, result: dict[str, Any] | Exception) -> None:
    def resolve() -> None:
        if task.future.done():
            return
        if isinstance(result, Exception):
            task.future.set_exception(result)
        else:
            task.future.set_result(result)

    with suppress(RuntimeError):  # the loop is closed
        task.future.get_loop().call_soon_threadsafe(resolve)
