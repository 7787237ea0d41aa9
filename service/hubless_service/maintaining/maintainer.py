"""Starts the work that is due, one after another, each in a process of its own."""

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic

from hubless.errors import HublessError
from hubless.store.bank_order import read_order
from hubless_service.maintaining.status import LOCK, Status, Work, ended_by_itself, read_status, write_status
from hubless_service.maintaining.work import BUSY, FAILED, MaintenanceTask

log = logging.getLogger("hubless.maintenance")

LOOK_SECONDS = 5.0
"""Between two looks for query banks that wait: those of a service that was killed, or of another worker."""
_POLL_SECONDS = 0.05
_LATER = {BUSY: 5.0}
_AFTER_FAILURE = 60.0
_MOST_FAILURES = 3
"""So often in a row a fit is tried that fails for no reason of its own."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Maintainer:
    """A thread that has the collections of a catalog merged or fitted anew when that is asked for.

    One piece of work runs at a time in each worker, and one a collection in all of them.
    """

    def __init__(
        self,
        catalog: Callable[[], Path],
        served: Callable[[], Iterable[str]],
        due: Callable[[], Iterable[str]],
        keep: int | None,
        on_done: Callable[[], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        catalog : gives the folder of the collections
        served : names the collections whose waiting query banks are looked for
        due : names those that are to be merged
        keep : how many of the newest versions to keep; None for all
        on_done : called from the thread when there is a new version
        environment : more variables for the processes
        """
        self._catalog = catalog
        self._served = served
        self._due = due
        self._keep = keep
        self._on_done = on_done
        self._environment = environment or {}
        self._asked: dict[str, Work] = {}
        self._found: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._looked = float("-inf")
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="maintain", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """End the work that runs; the thread, if it runs. A later service does a query bank's work again."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        return [self._thread] if self._thread.ident else []

    def ask(self, name: str, work: Work) -> None:
        """Have something done to a collection as soon as may be. A fit on a new bank merges, too."""
        with self._changed:
            if self._asked.get(name) != "bank":
                self._asked[name] = work
            self._found.discard(name)
            self._not_before.pop(name, None)
            self._failures.pop(name, None)
            self._changed.notify()

    def status(self, name: str) -> Status | None:
        """Return the status of the last work on a collection."""
        return read_status(self._catalog() / name)

    def _run(self) -> None:
        while (asked := self._next()) is not None:
            name, work = asked
            try:
                self._done(name, work, self._work(name, work))
            except Exception:
                log.exception('collection "%s": %s could not be started', name, work)
                self._not_before[name] = monotonic() + _AFTER_FAILURE

    def _next(self) -> tuple[str, Work] | None:
        """Wait for the next task; None once it is stopped."""
        while True:
            self._look()
            with self._changed:
                if self._stopped:
                    return None
                ready = [name for name in self._asked if self._not_before.get(name, 0.0) <= monotonic()]
                if ready:
                    return ready[0], self._asked.pop(ready[0])
                self._changed.wait(LOOK_SECONDS if not self._asked else _LATER[BUSY] / 10)

    def _look(self) -> None:
        """Ask for the merges that are due, and for the fits whose query banks wait."""
        if monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = monotonic()
        for name in self._due():
            with self._changed:
                if name not in self._asked:
                    self._asked[name] = "merge"
                    self._found.add(name)
        for name in self._served():
            try:
                order = read_order(self._catalog() / name)
            except HublessError as error:
                log.error('collection "%s": %s', name, error)  # noqa: TRY400
                continue
            if order is not None and order.fit:
                with self._changed:
                    self._asked[name] = "bank"
                    self._found.discard(name)

    def _work(self, name: str, work: Work) -> int | None:
        """Do it, and return the exit code; None if it was stopped, or its collection is gone."""
        home = self._catalog() / name
        if not home.is_dir():
            return None
        with (home / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return BUSY
            reading, writing = os.pipe()
            try:
                task = MaintenanceTask(str(home.parent), name, work, self._keep, reading)
                command = [sys.executable, "-P", "-m", "hubless_service.maintaining.work", json.dumps(task._asdict())]
                # nobody waits for a merge: it leaves the other processors to the searches
                few = dict.fromkeys(_THREADS, "1") if work == "merge" else {}
                log.info('collection "%s": %s begins', name, work)
                process = subprocess.Popen(  # noqa: S603
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[reading, lock.fileno()],
                    env={**os.environ, **few, **self._environment},
                )
                return self._ended(process, home)
            finally:
                os.close(reading)
                os.close(writing)

    def _ended(self, process: "subprocess.Popen[bytes]", home: Path) -> int | None:
        """Wait for a process, or end it when this is to stop."""
        while (code := process.poll()) is None:
            with self._changed:
                self._changed.wait(_POLL_SECONDS)
                stopped = self._stopped
            if stopped:
                process.kill()
                process.wait()
                return None
        if code < 0 and (status := read_status(home)) is not None and status.state == "running":
            write_status(home, ended_by_itself(status))
        return code

    def _done(self, name: str, work: Work, code: int | None) -> None:
        found = name in self._found  # nobody asked for it: it is found again, if it is still due then
        self._found.discard(name)
        if code is None:
            return
        status = self.status(name)
        if code == 0:
            self._failures.pop(name, None)
            version = status.version if status else None
            log.info(
                'collection "%s": %s is done: %s', name, work, f"version {version}" if version else "nothing to do"
            )
            self._on_done()
            return
        if code == BUSY and found:
            return
        if code == BUSY:
            log.info('collection "%s": %s waits for another job', name, work)
        else:
            detail = ((status and status.problem) or {}).get("detail", f"its process ended with {code}")
            log.error('collection "%s": %s failed: %s', name, work, detail)
            self._failures[name] = self._failures.get(name, 0) + 1
        self._not_before[name] = monotonic() + _LATER.get(code, _AFTER_FAILURE)
        if found:
            return
        if code == FAILED or (code != BUSY and self._failures[name] >= _MOST_FAILURES):
            self._not_before[name] = float("inf")  # until it is asked for again
            return
        with self._changed:
            self._asked.setdefault(name, work)
