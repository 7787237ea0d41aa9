"""Writes points: one thread, which appends to the log what waits for one collection together.

A write is answered when it is on the disk and this process serves it. The other workers follow its log.
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

from hubless.errors import HublessError
from hubless.search.engines.deadline import within
from hubless.search.living import Draft, Living
from hubless.search.writes import Write
from hubless_service.http.problems import RETRY_AFTER, Problem, internal_error
from hubless_service.http.trace import Trace
from hubless_service.searching.shelf import Shelf

log = logging.getLogger("hubless.writes")

Plan = Callable[[Draft], tuple[Write | None, dict[str, Any]]]
"""Given the collection as it is after the writes before: what to write, None for nothing, and what to answer."""
_TOGETHER = 64
"""Most writes that one transaction takes."""


@dataclass(eq=False, slots=True)
class Task:
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
    """

    name: str
    points: int
    plan: Plan
    deadline: float
    trace: Trace
    future: "asyncio.Future[dict[str, Any]]"
    submitted: float
    durable: bool = True


class Writer:
    """The thread that writes, and the writes that wait for it."""

    def __init__(self, shelf: Shelf, room: int, most_added: int, prepare: Callable[[], object]) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        room : how many writes may wait
        most_added : most targets that may stand beside the index of a collection
        prepare : called once in the thread
        """
        self.on_failure: Callable[[], None] = lambda: None
        self._shelf = shelf
        self._room = room
        self._most_added = most_added
        self._prepare = prepare
        self._waiting: deque[Task] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="write", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Write what waits, and nothing more; the thread, if it runs."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        return [self._thread] if self._thread.ident else []

    async def write(
        self, trace: Trace, name: str, points: int, plan: Plan, deadline: float, *, durable: bool = True
    ) -> dict[str, Any]:
        """Write, and return what the plan answers, with the number of the write.

        Raises
        ------
        Problem
            `too_many_requests`, `not_ready`, `deadline_exceeded`, `merge_needed`, and whatever the plan raises.
        StorageError
            if the disk refuses. Nothing of the write is served then.
        """
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        with self._changed:
            if self._stopped:
                raise Problem("not_ready", "The server is stopping.", headers=RETRY_AFTER)
            if len(self._waiting) >= self._room:
                detail = f"{len(self._waiting)} writes wait already."
                raise Problem("too_many_requests", detail, headers=RETRY_AFTER)
            self._waiting.append(Task(name, points, plan, deadline, trace, future, perf_counter(), durable))
            self._changed.notify()
        # a client that hangs up does not stop a write that has begun
        return await asyncio.shield(future)

    def _run(self) -> None:
        self._prepare()
        while self._write_next():
            pass

    def _write_next(self) -> bool:
        """Write what waits for one collection, or wait for it; False once it is stopped and nothing waits."""
        # a function of its own: its variables must not hold a version while the thread waits
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
        if not (tasks := self._next()):
            return False
        try:
            self._write(tasks)
        except HublessError as error:
            log.error('collection "%s": nothing was written: %s', tasks[0].name, error)  # noqa: TRY400
            _fail(tasks, error.with_traceback(None))
        except Problem as problem:
            _fail(tasks, problem.with_traceback(None))
        except Exception:
            log.exception('collection "%s": nothing was written', tasks[0].name)
            self.on_failure()
            _fail(tasks, internal_error())
        return True

    def _next(self) -> list[Task]:
        """The writes of the collection that has waited longest; none if nothing waits."""
        with self._changed:
            found: list[Task] = []
            if self._waiting:
                name = self._waiting[0].name
                found = [task for task in self._waiting if task.name == name][:_TOGETHER]
                taken = set(map(id, found))
                self._waiting = deque(task for task in self._waiting if id(task) not in taken)
            return found

    def _write(self, tasks: list[Task]) -> None:
        living = self._living(tasks[0].name)
        if living.log is None:
            raise Problem("storage", "The collection has no folder, so it cannot be written to.")
        answers = []
        durable = any(task.durable for task in tasks)
        with living.changing, living.log.writing(durable=durable) as appender:
            living.catch_up()
            draft = living.draft()
            for task in tasks:
                if (planned := self._planned(task, draft)) is None:
                    continue
                write, document = planned
                if write is not None:
                    draft.add(appender.add(write.kind, write.encode()), write)
                answers.append((task, {"seq": appender.last, **document}))
            draft.state()  # what fails here fails before anything is on the disk
            appender.commit()
            living.adopt(draft)
        following = self._shelf.known(tasks[0].name).living
        if following is not None and following is not living:
            following.catch_up()  # another version took its place meanwhile
        for task, document in answers:
            _resolve(task, document)

    def _planned(self, task: Task, draft: Draft) -> tuple[Write | None, dict[str, Any]] | None:
        """What to write for a task; None if it is refused."""
        now = perf_counter()
        task.trace.add("queue", now - task.submitted)
        try:
            if now > task.deadline:
                raise Problem("deadline_exceeded", "The time was over before it was written.")
            if task.points and draft.added + task.points > self._most_added:
                detail = f"{draft.added} points stand beside the index, and at most {self._most_added} may: merge them."
                raise Problem("merge_needed", detail, headers={"Retry-After": "60"})
            with within(task.deadline - now):
                return task.plan(draft)
        except (Problem, HublessError) as error:
            _resolve(task, error.with_traceback(None))
        return None

    def _living(self, name: str) -> Living:
        living = self._shelf.known(name).living
        if living is None:
            raise Problem("not_ready", "The collection is not served any more.", headers=RETRY_AFTER)
        return living


def _fail(tasks: list[Task], error: Exception) -> None:
    for task in tasks:
        _resolve(task, error)


def _resolve(task: Task, result: dict[str, Any] | Exception) -> None:
    def resolve() -> None:
        if task.future.done():
            return
        if isinstance(result, Exception):
            task.future.set_exception(result)
        else:
            task.future.set_result(result)

    with suppress(RuntimeError):  # the loop is closed
        task.future.get_loop().call_soon_threadsafe(resolve)
