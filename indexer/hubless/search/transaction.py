"""A collection that is written to: a version, and what its log says has changed since."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from hubless.corrections.centred import CentredCorrection
from hubless.errors import LogDamaged, VersionReplaced, one_line
from hubless.forks import in_each_process
from hubless.search.collection import Collection, open_collection
from hubless.search.delta.changes import Delta
from hubless.search.delta.memtable import NewTargets
from hubless.search.delta.overlay import seqs_of
from hubless.search.delta.writes import KINDS, Put, Remove, Write
from hubless.search.parts import traits_of
from hubless.store.catalog import Catalog
from hubless.store.log import Log
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import ArrayVectors

C = TypeVar("C", bound=Collection)
L = TypeVar("L", bound=Log | None)


class State(NamedTuple):
    """The state of a version with some writes; never changed."""

    changes: Delta
    collection: Collection


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
        self._noted = 0
        self._state: State | None = None
        in_each_process(self)

    def renew(self) -> None:
        self.changing = RLock()

    @property
    def changes(self) -> Delta | None:
        return self._state and self._state.changes

    def has_after(self, seq: int) -> bool:
        """Return True if there are writes after a number, by whichever process. Costs 3 µs."""
        if self.log is None or (noted := self.log.noted()) <= seq:
            return False
        # a number that was looked for in vain is one of writes that a power cut has taken
        return noted != self._noted or self.current.seq > seq

    @property
    def has_news(self) -> bool:
        """Return True if another write is noted beside the log than at the last `refresh`. Costs 3 µs."""
        return self.log is not None and self.log.noted() != self._noted

    def refresh(self, *, wait: bool = False) -> bool | None:
        """Catch up if the log has more writes. Return whether anything changed; None while a write is under way."""
        # who writes to it now catches up, and may have to wait for the disk
        if self.log is None or not self.changing.acquire(blocking=wait):
            return None
        try:
            noted = self.log.noted()
            changed = self.log.last() != self.current.seq and self.catch_up()
            self._noted = noted
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
        return Transaction(self, self._state or State(Delta.of(self.base.parts, self.base.filter_cache), self.current))

    def commit(self, transaction: "Transaction") -> None:
        with self.changing:
            state = transaction.state()
            if state.collection is not self.current:
                self._state, self.current = state, state.collection

    def _read(self, log: Log) -> bool:
        transaction, schema = self.begin(), self.base.parts.payload_schema
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
    while True:
        version, log = open_with_log(
            lambda: open_collection(catalog, name, **options), lambda: catalog.log(catalog.resolve(name), until)
        )
        written = WritableCollection(version, log)
        try:
            with closing(log):
                written.catch_up()
        except VersionReplaced:  # a newer version was published meanwhile, and this one pruned
            continue
        written.log = None
        return written


class Transaction:
    """Writes that nobody sees yet. `added` is how many targets stand beside the index, at most."""

    def __init__(self, living: WritableCollection, state: State) -> None:
        self._living = living
        self._state = state
        self._waiting: list[tuple[int, Write]] = []
        self._seq = state.collection.seq
        self._there: dict[str | int, bool] = {}  # whether the targets of waiting writes are there after them
        self.added = state.changes.count_added

    def has(self, wanted: str | int) -> bool:
        known = self._there.get(wanted)
        if known is not None:
            return known
        return self._state.changes.has(wanted)

    def collection(self) -> Collection:
        return self.state().collection

    def seq_of(self, wanted: str | int) -> int | None:
        collection = self.collection()
        [row] = collection.find([wanted])
        return None if row is None else int(seqs_of(collection.parts, np.array([row]))[0])

    def check(self, write: Write) -> None:
        """Raise `InputError` if float16 cannot hold a vector of a write, also one that a later write replaces."""
        manifest = self._living.base.manifest
        if isinstance(write, Put) and manifest.index.precision == "float16":
            comparison(manifest.metric).halved(write.vectors, "vectors")

    def add(self, seq: int, write: Write) -> None:
        self._waiting.append((seq, write))
        self._seq = seq
        self._there.update(dict.fromkeys(write.ids.to_pylist(), isinstance(write, Put)))
        if isinstance(write, Put):
            self.added += len(write.ids)

    def state(self) -> State:
        if self._waiting:
            changes = _changed(self._state.changes, self._living.base.correction, self._waiting)
            base = self._living.base
            self._state = State(changes, Collection(replace(changes.parts(), seq=self._seq), base.filter_cache, base))
            self._waiting, self._there = [], {}
            self.added = changes.count_added
        return self._state


def _changed(changes: Delta, correction: Callable[[], CentredCorrection], writes: Sequence[tuple[int, Write]]) -> Delta:
    """The changes after some writes and their numbers. What comes of them in the end is done once."""
    last: dict[str | int, tuple[int, int] | None] = {}  # of each id: which write put it last, and in which row
    for number, (_, write) in enumerate(writes):
        for row, wanted in enumerate(write.ids.to_pylist()):
            last.pop(wanted, None)  # so that it stands in the order of the last writes
            last[wanted] = None if isinstance(write, Remove) else (number, row)
    changes = changes.without(last)
    parts, seqs, ranks = [], [], []
    for number, (seq, write) in enumerate(writes):
        if isinstance(write, Put):
            rows = np.array([place[1] for place in last.values() if place and place[0] == number], np.int64)
            parts += [write if len(rows) == len(write.ids) else write.taken(rows)] if len(rows) else []
            seqs.append(np.full(len(rows), seq))
            ranks.append(rows)
    if not parts:
        return changes
    put = Put.joined(parts)
    offsets = np.zeros(len(put.ids), np.float32)
    if put.there.any():
        traits = traits_of(changes.base.manifest, put.payload, len(put.ids))[put.there]
        offsets[put.there] = correction().offsets(ArrayVectors(put.vectors[put.there], "vectors"), traits=traits)
    numbers = np.concatenate(seqs), np.concatenate(ranks)
    return changes.with_more(NewTargets(put.vectors, offsets, put.ids, put.payload, put.there, *numbers))
