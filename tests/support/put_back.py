"""Faults that hubless had, put back, so that a test can show that the simulation finds them."""

from dataclasses import replace

import numpy as np

from hubless.search.delta.changes import Delta
from hubless.search.delta.overlay import DeltaTargets
from hubless.store import catalog
from hubless_service.http.problems import internal_error
from hubless_service.searching import writer


def numbers_twice():
    """Number the writes after a restore on from the log alone, whatever the versions have."""
    log = catalog.Log
    catalog.Log = lambda home, until=None, *rest: log(home, until)


def scroll_places():
    """Let a cursor count the points that were ever added, which each process does in its own way."""
    with_more, place, row_from = Delta.with_more, DeltaTargets.place, DeltaTargets.row_from

    def counted(self, more):
        before = self.added.rows("ranks")
        first = int(before[-1]) + 1 if len(before) else 0
        return with_more(self, replace(more, ranks=np.arange(first, first + len(more.ids))))

    def counted_place(self, row):
        seq, rank = place(self, row)
        return min(seq, 1), rank

    def row_from_count(self, seq, rank):
        if not seq:
            return row_from(self, seq, rank)
        ranks = self.memtable.rows("ranks")[self.memtable.slots]
        return self.numbering.of_base + int(np.searchsorted(ranks, rank))

    Delta.with_more, DeltaTargets.place, DeltaTargets.row_from = counted, counted_place, row_from_count


def one_for_all():
    """Refuse all writes of a group if one of them turns out to be wrong."""

    def attempt(self, tasks):
        try:
            self._write(tasks)
        except Exception:
            writer._fail(tasks, internal_error())

    writer.Writer._attempt = attempt


def acknowledged_early():
    """Acknowledge a write that nobody has brought to the disk."""
    from hubless.store import log

    writing_ = log.Log.writing
    log.Log.writing = lambda self, **options: writing_(self, **{**options, "durable": False})


def unsynced_version():
    """Publish a version whose files nobody has brought to the disk."""
    from hubless.store import bundle

    bundle.sync = lambda path: None
