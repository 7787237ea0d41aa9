"""Starts the work that is due, one after another, each in a process of its own."""

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep, time
from typing import Literal

from hubless.builder.pipeline.compaction import needs_training
from hubless.errors import HublessError
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.transaction import WritableCollection
from hubless.store.bank_order import BankOrder, read_order
from hubless.store.catalog import Catalog
from hubless.store.clients import CountedQueries
from hubless.store.query_sample import counted
from hubless_service.http.answers import Work
from hubless_service.maintaining.work import BUSY, LOCK, MaintenanceTask, Status, do_task, read_status
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.maintenance")

LOOK_SECONDS = 5.0
"""Between two looks for work: a service that was killed, or another worker, may have left some."""
Chore = Work | Literal["flush"]
SHARE = 0.02
"""Of the targets: each flush makes a version, so a large collection waits for more."""
_BUSY_SECONDS, _AFTER_FAILURE, _HOUR = 5.0, 60.0, 3600.0
_POLL_SECONDS = 0.1
_MOST_FAILURES = 3
"""So often in a row a fit is tried on a bank that nothing is wrong with."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Maintainer:
    """A thread that has collections merged or fitted anew when that is due, one after another."""

    def __init__(
        self,
        catalog: Path,
        served: Callable[[], Iterable[WritableCollection]],
        settings: Settings,
        on_done: Callable[[], None],
    ) -> None:
        """`served` returns the collections to look after. `on_done` is called after each new version."""
        self._catalog = catalog
        self._served = served
        self._settings = settings
        self._limits = settings.merge_at, settings.max_added
        self._sample = settings.query_sample
        self._scores = KeptCorrections(catalog)
        self._on_done = on_done
        self._not_before = dict[tuple[str, Chore], float]()
        self._failures = Counter[str]()  # of fits in a row, by collection
        self._told = set[str]()  # collections whose bank is said to wait for another job
        self._given = Counter[str]()  # banks, by collection
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="maintain", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """End the work that runs; return the thread, started or not. A later service does a query bank's work again."""
        self._stopping = True
        self._woken.set()
        return [self._thread]

    def fit(self, name: str) -> None:
        """Fit a collection on the bank that waits on the disk as soon as may be, however often that has failed."""
        self._given[name] += 1  # first: whoever notes a failure now looks at this afterwards
        self._begin_anew(name)
        self._woken.set()

    def _begin_anew(self, name: str) -> None:
        """Forget the failures of banks before the one that waits."""
        self._not_before.pop((name, "bank"), None)
        self._failures.pop(name, None)

    def written(self, living: WritableCollection) -> None:
        """Look for work if the writes of a collection are enough for a merge."""
        if are_enough(living, *self._limits):
            self._woken.set()

    def status(self, name: str) -> Status | None:
        """Return the status of the last work on a collection."""
        return read_status(self._catalog / name)

    def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            waiting = self._waiting()
            self._told &= {name for name, work in waiting if work == "bank"}
            ready = [item for item in waiting if self._not_before.get(item, 0.0) <= monotonic()]
            if not ready:
                sleep(_POLL_SECONDS)
                self._woken.wait(LOOK_SECONDS)
                continue
            self._do(*ready[0])

    def _do(self, name: str, work: Chore) -> None:
        given = self._given[name]
        try:
            task = MaintenanceTask(
                self._catalog, name, "merge" if work == "flush" else work, self._settings.keep_versions, self._sample
            )
            code = self._flushed(task) if work == "flush" else self._work(task)
            self._note(task, work, code)
            if self._given[name] != given:
                self._begin_anew(name)
        except Exception:
            _log.exception('collection "%s": %s could not be started', name, work)
            self._not_before[name, work] = monotonic() + _AFTER_FAILURE

    def _waiting(self) -> list[tuple[str, Chore]]:
        """Return what is to be done, flushes first."""
        waiting = list[tuple[str, Chore]]()
        for living in self._served():
            name = living.base.name
            try:
                order = None if living.log is None else read_order(self._catalog / name)
                asked = self.counted(name, order)
                if order and order.fit and (order.sampled is None or (asked and asked.queries >= order.sampled)):
                    waiting.append((name, "bank"))
                if is_due(living, *self._limits):
                    waiting.insert(0, (name, "flush"))
                elif self._limits[0] > 0 and living.log is not None and needs_training(living.base.parts):
                    waiting.append((name, "merge"))
            except HublessError as error:
                _log.error('collection "%s": %s', name, error)
        try:
            waiting += [(name, "scores") for name in self._scores.due(time())]
        except (HublessError, ValueError) as error:
            _log.error("corrections of scores: %s", error)
        return waiting

    def _flushed(self, task: MaintenanceTask) -> int | None:
        """Make what was written a segment, here: it costs what was written. Return an exit code."""
        living = next((each for each in self._served() if each.base.name == task.collection), None)
        return None if living is None else do_task(task, living.current.parts)

    def counted(self, name: str, order: BankOrder | None) -> CountedQueries | None:
        """Return how many live queries of a collection count for a bank that waits for them; None for another bank."""
        if order is None or order.sampled is None or self._sample is None:
            return None
        return counted(self._sample / name, order.sampled, order.trusted or ())

    def _work(self, task: MaintenanceTask) -> int | None:
        """Do it, and return the exit code; None if it was stopped, or its collection is gone."""
        home = task.home
        if not home.is_dir():
            return None
        with (home / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return BUSY
            command = [sys.executable, "-P", "-m", "hubless_service.maintaining.work", json.dumps(task, default=str)]
            # nobody waits for a merge: it leaves the other processors to the searches
            few = {} if task.work == "bank" else dict.fromkeys(_THREADS, "1")
            _log.info("%s begins", _about(task.collection, task.work))
            with subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,  # its end is ours
                stdout=subprocess.DEVNULL,
                pass_fds=[lock.fileno()],
                env={**os.environ, **few},
            ) as process:
                return self._ended(process)

    def _ended(self, process: "subprocess.Popen[bytes]") -> int | None:
        """Wait for a process, or end it when this is to stop."""
        while process.poll() is None:
            if self._stopping:
                process.kill()
                return None
            for living in self._served():  # flushes do not wait
                name = living.base.name
                if self._not_before.get((name, "flush"), 0.0) <= monotonic() and is_due(living, *self._limits):
                    self._do(name, "flush")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
        return process.returncode

    def _note(self, task: MaintenanceTask, work: Chore, code: int | None) -> None:
        """Note what came of some work, and when to try again if it failed."""
        if code is None:
            return
        name, status = task.collection, read_status(task.home)
        if code == 0 and work == "scores":
            _log.info("%s are fitted", _about(name, work))
        elif code == 0:
            self._failures.pop(name, None)
            made = f"version {status.version}" if status and status.version else "nothing to do"
            _log.info('collection "%s": %s is done: %s', name, work, made)
            self._on_done()
        elif code == BUSY:
            if work == "bank" and name not in self._told:
                _log.info('collection "%s": %s waits for another job', name, work)
                self._told.add(name)
            self._not_before[name, work] = monotonic() + _BUSY_SECONDS
        else:
            detail = ((status and status.problem) or {}).get("detail", f"its process ended with {code}")
            _log.error("%s failed: %s", _about(name, work), detail)
            self._not_before[name, work] = monotonic() + (_HOUR if work == "scores" else _AFTER_FAILURE)
            if work == "bank":
                self._failures[name] += 1
                if self._failures[name] >= _MOST_FAILURES:  # until it is put again
                    self._not_before[name, work] = float("inf")


def _about(name: str, work: Chore) -> str:
    return f'scores "{name}"' if work == "scores" else f'collection "{name}": {work}'


def are_enough(living: WritableCollection, merge_at: int, most_added: int) -> bool:
    """Return whether the added targets, gone targets or writes of a collection are so many, and 2 % of the targets.

    Half of the targets that may be added are enough: writes go on meanwhile. Writes count too, as a collection whose
    targets are changed again and again would have an ever longer log.
    """
    if merge_at <= 0:
        return False
    now, base = living.current, living.base
    changed = max(now.parts.added, now.parts.removed, now.seq - base.seq)
    return changed >= min(max(merge_at, SHARE * base.count), most_added / 2)


def is_due(living: WritableCollection, merge_at: int, most_added: int) -> bool:
    """Return whether a collection is to be merged."""
    if living.log is None or not are_enough(living, merge_at, most_added):
        return False
    home = living.log.path.parent
    try:
        # another worker may have merged it just now; a folder that is only read is merged by others
        return os.access(home, os.W_OK) and Catalog(home.parent).current(home.name) == living.base.version
    except HublessError:
        return False
