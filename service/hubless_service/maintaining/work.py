"""One piece of work in a process of its own, `python -m hubless_service.maintaining.work JSON`, and its status.

Any worker can read the status: .work.json beside the versions. .work.lock is held while the work runs.
"""

import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from hubless.builder.banks.bank_review import sampled_bank
from hubless.builder.lifecycle import compact, flush, refit
from hubless.builder.pipeline.publishing import current_parts
from hubless.corrections import correction as make_correction
from hubless.corrections.grouped import with_groups
from hubless.errors import HublessError, InputError, JobRunning, PreconditionFailed
from hubless.progress import Advance, Steps
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.parts import Parts
from hubless.store.bank_order import BankOrder, drop_order, read_bank, read_order
from hubless.store.bundle import Manifest, read_manifest
from hubless.store.catalog import Catalog
from hubless.store.durable import is_locked, now, replaced
from hubless.store.query_sample import counted, most_of_a_client, read_sample
from hubless_service.http.answers import Work, WorkAnswer
from hubless_service.http.problems import PROBLEM_TYPES, from_library, internal_error

_STATUS, LOCK = ".work.json", ".work.lock"

NICER = 19
BUSY, FAILED = 75, 70
"""Exit codes: another job changes the collection; the status says why it failed."""
_REPORT_SECONDS = 0.25


class Status(WorkAnswer):
    """The status of some work, and the number of the query bank that it is about; 0 for none."""

    number: int


def _stamp() -> str:
    """The time as it stands in a status."""
    return now().isoformat(timespec="milliseconds")


def read_status(home: Path) -> Status | None:
    """The status of the last work; None for none that is known. Work whose process is gone has failed."""
    status = _written(home)
    if status is not None and status.state == "running" and not is_running(home):
        status = _written(home)  # it may have ended between the two looks
        if status is not None and status.state == "running":
            problem = {"code": "internal_error", "detail": "The process that did it ended before it was finished."}
            return status.model_copy(update={"state": "failed", "ended": _stamp(), "problem": problem})
    return status


def _written(home: Path) -> Status | None:
    try:
        return Status.model_validate_json((home / _STATUS).read_bytes())
    except (OSError, ValidationError):
        return None


def is_running(home: Path) -> bool:
    """Return True if some work of the service on the collection runs now, in whichever process."""
    try:
        return is_locked(home / LOCK)
    except OSError:
        return False


class MaintenanceTask(NamedTuple):
    """A task: the folder of the catalog, the collection, the work, how many versions to keep, and the query sample."""

    catalog: Path
    collection: str
    work: Work
    keep: int | None
    sample: Path | None = None

    @property
    def home(self) -> Path:
        """The folder of the collection, or of what a correction of scores learns from."""
        if self.work == "scores":
            return KeptCorrections(self.catalog).learned(self.collection).home
        return self.catalog / self.collection


class _Reporter:
    """Writes the status, from the first step on: before that, another job may hold the collection."""

    def __init__(self, task: MaintenanceTask, number: int) -> None:
        self._home = task.home
        unknown = dict.fromkeys(("step", "total", "ended", "version", "problem"))
        self._status = Status(work=task.work, state="running", done=0, began=_stamp(), number=number, **unknown)
        self._written = 0.0

    def step(self, description: str, total: int | None = None) -> Advance:
        self._status.step, self._status.done, self._status.total = description, 0, total
        self._write()
        return self._advance

    def end(self, made: Manifest | None, error: Exception | None = None) -> None:
        """Say what came of it."""
        self._status.state, self._status.ended = "failed" if error else "done", _stamp()
        self._status.version = made.version if made else None
        self._status.problem = _problem(error) if error else None
        self._write()

    def _advance(self, rows: int) -> None:
        self._status.done += rows
        if monotonic() - self._written > _REPORT_SECONDS:
            self._write()

    def _write(self) -> None:
        self._written = monotonic()
        # the work is worth more than its report
        with suppress(OSError), replaced(self._home / _STATUS) as path:
            path.write_text(self._status.model_dump_json(), "utf-8")


def _fitted(task: MaintenanceTask, order: BankOrder | None, steps: Steps) -> Manifest | None:
    """Fit on the bank that was put; None if a version was already, or it waits for more live queries."""
    if order is None or (read := read_bank(task.home)) is None or read[0].number != order.number:
        return None
    made: Manifest | None = None
    queries = read[1]
    clients = note = None
    if order.sampled is not None:
        steps.step("checking live queries")
        folder = (task.sample or Path()) / task.collection
        trusted = order.trusted or ()
        if counted(folder, order.sampled, trusted).queries < order.sampled:
            return None  # it waits on: since the look another was put, or queries were deleted
        sample = read_sample(folder, most_of_a_client(order.sampled), trusted)
        parts = current_parts(Catalog(task.catalog), task.collection)
        method = make_correction(order.correction or "auto", order.parameters, parts.manifest.metric)
        queries, asked = sampled_bank(parts, sample, method)
        clients = [None if each.rpartition(" ")[0] in trusted else each for each in asked]
        counts = f"{len(queries):,} of {len(sample.vectors):,} sampled live queries"
        note = f"Corrected by itself on {_stamp()[:10]}, with {counts}."
    if read_manifest(Catalog(task.catalog).folder(task.collection)).bank_order != order.number:
        made = refit(
            task.catalog,
            task.collection,
            queries if order.groups is None else with_groups(queries, order.fit_by or "", order.groups),
            append=order.append,
            correction=order.correction,
            parameters=order.parameters,
            keep=task.keep,
            bank_order=order.number,
            over=order.over if order.sampled is None else None,
            relevant=order.relevant,
            fit_by=order.fit_by,
            note=note,
            clients=clients,
            progress=steps,
        )
    drop_order(task.home, order.number)
    return made


def _made(task: MaintenanceTask, order: BankOrder | None, written: Parts | None, steps: Steps) -> Manifest | None:
    if written is not None:
        return flush(Catalog(task.catalog), written, keep=task.keep)
    if task.work == "bank":
        return _fitted(task, order, steps)
    if task.work == "scores":
        steps.step("fitting scores")
        KeptCorrections(task.catalog).learn(task.collection)
        return None
    return compact(task.catalog, task.collection, keep=task.keep, progress=steps)


def do_task(task: MaintenanceTask, written: Parts | None = None) -> int:
    """Do some work, write its status, and return the exit code. A bank that is wrong, or overtaken, is given up.

    A merge makes what was `written` to a collection, as it is open, a segment of a new version; without that it trains
    the index anew if that is due.
    """
    order = read_order(task.home) if task.work == "bank" else None
    reporter = _Reporter(task, order.number if order else 0)
    try:
        reporter.end(_made(task, order, written, reporter))
    except JobRunning:
        return BUSY
    except Exception as error:
        if not isinstance(error, HublessError):
            traceback.print_exc()
        # one will be wrong the next time, too; the other would come over the version that was activated
        if order is not None and isinstance(error, InputError | PreconditionFailed):
            drop_order(task.home, order.number)
        reporter.end(None, error)
        return FAILED
    return 0


def _problem(error: Exception) -> dict[str, object]:
    found = from_library(error) if isinstance(error, HublessError) and error.code in PROBLEM_TYPES else internal_error()
    return {"code": found.code, "detail": found.detail, **found.members}


def _end_with_service() -> None:
    with suppress(OSError):
        os.read(0, 1)  # the service writes nothing; its end of standard input is closed when it ends
    os._exit(FAILED)


def begin(argument: str) -> None:
    """Do the work that an argument names."""
    os.nice(NICER)  # searches go first
    threading.Thread(target=_end_with_service, name="alive", daemon=True).start()
    sys.exit(do_task(TypeAdapter(MaintenanceTask).validate_json(argument)))


if __name__ == "__main__":
    begin(sys.argv[1])
