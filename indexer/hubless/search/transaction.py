"""A collection that is written to: a version, and what its log says has changed since."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from hubless.corrections import QueryTime
from hubless.corrections.target_columns import TargetColumns
from hubless.errors import LogCut, LogDamaged, VersionReplaced, one_line
from hubless.kernels.forks import in_each_process
from hubless.search.collection import Collection, open_collection
from hubless.search.parts import Parts
from hubless.search.segments.memory import NewTargets
from hubless.search.segments.role_columns import columns_of
from hubless.search.segments.targets import Targets
from hubless.search.writes import KINDS, Put, Write
from hubless.store.catalog import Catalog
from hubless.store.log import Log
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HeldVectors

C = TypeVar("C", bound=Collection)
L = TypeVar("L", bound=Log | None)


class WritableCollection:
    """A version of a collection with the writes of its log, None for what is in memory only.

    `current` is the base with the writes so far, another object after each change. `error` says why the log could not
    be followed, set by whoever follows it. `changing` is held while it changes; take it after the lock of the log.
    """

    def __init__(self, base: Collection, log: Log | None) -> None:
        self.base = base
        self.current = base
        self.log = log
        self.error: Exception | None = None
        self.news: object = None  # what told of writes when whoever follows it had all of them
        self._sought = 0  # the number that was noted when it was looked for last
        in_each_process(self)

    def renew(self) -> None:
        self.changing = RLock()

    @property
    def is_behind(self) -> bool:
        """Return True if a later write is noted beside the log, by whichever process. Costs 4 µs."""
        if self.log is None or (noted := self.log.noted()) <= self.current.parts.seq:
            return False
        return noted != self._sought  # else it is one of writes that a power cut has taken, looked for in vain

    def refresh(self, *, wait: bool = False) -> bool | None:
        """Catch up if the log has more writes. Return whether anything changed; None while a write is under way."""
        # who writes to it now catches up, and may have to wait for the disk
        if self.log is None or not self.changing.acquire(blocking=wait):
            return None
        try:
            noted = self.log.noted()
            changed = self.log.last() != self.current.seq and self.catch_up()
            self._sought = noted
            return changed
        finally:
            self.changing.release()

    def catch_up(self) -> bool:
        """Apply what the log has, up to where `LogDamaged` is raised. Return whether anything changed."""
        if self.log is None:
            return False
        with self.changing:
            before = self.current
            while self._read(self.log):
                pass
            return self.current is not before

    def begin(self) -> "Transaction":
        """Writes to come, planned one after another. Hold `changing` until they are adopted or given up."""
        return Transaction(self.base, self.current)

    def commit(self, transaction: "Transaction") -> None:
        with self.changing:
            self.current = transaction.collection()
            self._sought = 0  # numbers that were lost are given again

    def _read(self, log: Log) -> bool:
        transaction = self.begin()
        schema = self.base.parts.payload_schema
        entries = log.since(self.current.seq)
        for entry in entries:
            try:
                transaction.add(entry.seq, KINDS[entry.kind].decode(entry.body, schema))
            except (pa.ArrowException, KeyError, ValueError) as error:
                self.commit(transaction)
                problem = f"write {entry.seq} cannot be applied ({one_line(error)}); those before it are served"
                raise LogDamaged(log.path, problem) from error
        self.commit(transaction)
        return bool(entries)


def open_with_log(version: Callable[[], C], log: Callable[[], L]) -> tuple[C, L]:
    """Open a version and the log of the same collection, which may be deleted and made anew meanwhile."""
    while True:
        found = log()  # before the version, so that it is never that of a later collection
        opened = version()
        if found is None or not found.is_gone:
            return opened, found


def open_written(catalog: Catalog, name: str, *, until: int | None = None, **options: Any) -> WritableCollection:
    """Open a collection as it is now: its current version, and the writes since, up to `until`. The log is closed.

    `name` may be an alias. `options` are those of `open_collection`.
    """
    tried = ""
    while True:
        version, log = open_with_log(
            lambda: open_collection(catalog, name, **options), lambda: catalog.log(catalog.resolve(name), until)
        )
        written = WritableCollection(version, log)
        try:
            with closing(log):
                written.catch_up()
        except (LogCut, VersionReplaced):
            if version.version == tried:
                raise
            tried = version.version  # a newer one was published meanwhile, and this one pruned
            continue
        written.log = None
        return written


class Transaction:
    """Writes that nobody sees yet."""

    def __init__(self, base: Collection, collection: Collection) -> None:
        self._base = base
        self._collection = collection
        self._waiting: list[tuple[int, int, Write]] = []
        self._seq = collection.parts.seq
        self._there: dict[str | int, bool] = {}  # whether the targets of waiting writes are there after them
        self._rows: dict[str | int, int] = {}  # those of ids that were looked up
        self._more = 0  # targets that they put

    @property
    def added(self) -> int:
        """Return how many targets stand in memory, at most."""
        return self._collection.parts.added + self._more

    def has(self, wanted: str | int) -> bool:
        return self.have([wanted])[0]

    def have(self, wanted: Sequence[str | int]) -> list[bool]:
        """Return for each id whether a target has it."""
        rows = self._looked_up(wanted)
        return [self._there.get(each, rows[each] >= 0) for each in wanted]

    def collection(self) -> Collection:
        """The collection with these writes."""
        if self._waiting:
            base = self._base
            targets = self._changed(self._collection.parts.targets)
            self._collection = Collection(changed_parts(base.parts, targets, self._seq), base.filter_cache, base)
            self._waiting = []
            self._there = {}
            self._rows = {}
            self._more = 0
        return self._collection

    def seq_of(self, wanted: str | int) -> int | None:
        targets = self.collection().parts.targets
        rows = targets.ids.rows([wanted])
        return None if rows[0] < 0 else int(targets.seqs(rows)[0])

    def check(self, write: Write) -> None:
        """Raise `InputError` if float16 cannot hold a vector of a write, also one that a later write replaces."""
        if isinstance(write, Put):
            _stored(self._base.parts, write.vectors)

    def add(self, seq: int, write: Write, rank: int = 0) -> None:
        """Add a write with its number, and the rank of its first target."""
        self._waiting.append((seq, rank, write))
        self._seq = seq
        self._there.update(dict.fromkeys(write.ids.to_pylist(), isinstance(write, Put)))
        if isinstance(write, Put):
            self._more += len(write.ids)

    def _looked_up(self, wanted: Sequence[str | int]) -> dict[str | int, int]:
        """Return the row of each of some ids before the writes that wait. Each is looked up once."""
        if new := [each for each in wanted if each not in self._rows]:
            rows = self._collection.parts.ids.rows(new).tolist()
            self._rows.update(zip(new, rows, strict=True))
        return self._rows

    def _changed(self, targets: Targets) -> Targets:
        """The targets after the waiting writes. What comes of them in the end is done once.

        Who is put in place of a target keeps what was known of it apart from its payload, unless that went in between.
        """
        last: dict[str | int, int] = {}  # of each id the row of all that is put; −1 if it goes in the end
        removed: set[str | int] = set()
        puts = []
        stamps: list[tuple[int, int]] = []
        count = 0
        for seq, rank, write in self._waiting:
            for row, wanted in enumerate(write.ids.to_pylist(), count):
                last.pop(wanted, None)  # so that it stands in the order of the last writes
                last[wanted] = row if isinstance(write, Put) else -1
            if isinstance(write, Put):
                puts.append(write)
                stamps += [(seq, rank + place) for place in range(len(write.ids))]
                count = len(stamps)
            else:
                removed.update(write.ids.to_pylist())
        known = self._looked_up(list(last))
        before = [-1 if each in removed else known[each] for each, row in last.items() if row >= 0]
        columns = targets.columns(np.array(before, np.int64))
        targets = targets.without(np.array([row for each in last if (row := known[each]) >= 0], np.int64))
        rows = np.array([row for row in last.values() if row >= 0], np.int64)
        if not len(rows):
            return targets
        put = Put.joined(puts)
        put = put if len(rows) == count else put.taken(rows)
        new = new_targets(self._base.parts, put, np.array(stamps)[rows].T, columns)
        return targets.with_more(new)


def new_targets(base: Parts, put: Put, stamps: I64, kept: TargetColumns) -> NewTargets:
    """Return what is put to a version, with offsets from its correction as it was fitted, and stamps (2, n).

    `kept` is what is known of each apart from its payload.
    """
    vectors, there = _stored(base, put.vectors), put.there
    offsets = np.zeros(len(put.ids), np.float32)
    if there.any():
        columns = columns_of(base.roles, put.payload, kept)[there]
        given = HeldVectors(put.vectors[there], "vectors")
        offsets[there] = base.correction().offsets(given, columns=columns)
    return NewTargets(vectors, offsets, put.ids, put.payload, there, stamps, kept)


def _stored(base: Parts, vectors: F32) -> F32:
    return base.space.halved(vectors, "vectors") if base.manifest.index.precision == "float16" else vectors


def changed_parts(base: Parts, targets: Targets, seq: int) -> Parts:
    """Return the parts of a version with other targets, by writes up to `seq`.

    A gate or a rescorer is prepared again for the targets that there are now, with the first query.
    """

    def prepared() -> QueryTime | None:
        if base.prepared() is None or not len(targets):
            return None
        return base.correction().query_time(targets)

    manifest = base.manifest.model_copy(update={"count": len(targets)})
    return replace(base, manifest=manifest, targets=targets, prepared=cache(prepared), seq=seq)
