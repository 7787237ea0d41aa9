"""The files that a job names, and which of their targets are new, changed or gone, by ids and digests of their content.

A version remembers the id and the digest of each target that its files had (`sources.arrow`). What is the same in a
file as it was the last time leaves the collection alone: a target that was changed or deleted over HTTP since stays so.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hubless.builder.inputs.items import column_of_ids, payload_rows, without_bad_rows
from hubless.builder.inputs.joined import open_targets
from hubless.builder.inputs.payloads import held_payload
from hubless.builder.inputs.readings import checked_blocks
from hubless.errors import DuplicateIds, InputError, StorageError, one_line, storage_errors, without_secrets
from hubless.jobs.databases import databases, is_database
from hubless.jobs.job_file import ReindexJob, TargetFiles
from hubless.store.address import copy_folder
from hubless.store.bundle import FileStamp, SourceRecord, record_of
from hubless.vectors.arrays import I64
from hubless.vectors.comparing import Metric
from hubless.vectors.files import SHARDS, Items
from hubless.vectors.ids import ID_COLUMN, rows_of_repeated
from hubless.vectors.listing import files_in, files_matching, is_folder, is_pattern, is_there
from hubless.vectors.npy import split_member
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset, reading_payload
from hubless.vectors.readers.places import UNREADABLE
from hubless.vectors.sources import SelectedVectors, VectorSource
from hubless.vectors.space import Space

_ADDRESS = re.compile(r"[a-z0-9+.-]+:(//|:)", re.IGNORECASE)


@dataclass(frozen=True)
class SourceFile:
    """A file of targets, those with its ids and payload, if there are any, and the column of ids, if one is named."""

    path: Path
    ids: Path | None
    payload: Path | None
    column: str | None = None

    @property
    def files(self) -> list[Path]:
        return [each for each in (self.path, self.ids, self.payload) if each is not None]


def found_sources(entries: Iterable[TargetFiles], folder: Path) -> list[SourceFile]:
    """Return the files of targets, in the order of the job file, and of their names."""
    found: dict[Path, SourceFile] = {}
    for number, entry in enumerate(entries):
        name = f"targets.{number}"
        paths = found_files(entry.path, folder, name)
        column = column_of_ids(entry.ids)
        more = [None if each is None else folder / each for each in (None if column else entry.ids, entry.payload)]
        if missing := [path for path in more if path is not None and not _is_file(path)]:
            raise StorageError(missing[0], f"{name}: there is no such file")
        if len(paths) > 1 and any(more):
            expected = "a single file, as it has a file with ids or payload"
            raise InputError(f"{name}.path", expected, f"{len(paths)} files")
        for path in paths:
            if path in found:
                raise InputError(f"{name}.path", "files that no other entry names", path.name)
            found[path] = SourceFile(path, more[0], more[1], column)
    return list(found.values())


def _is_file(path: Path) -> bool:
    file, _ = split_member(path)
    return is_there(file) and not is_folder(file)


def found_files(given: str | Sequence[str], folder: Path, name: str) -> list[Path]:
    """Return the files that a path stands for: itself, those of a folder, or those that a pattern matches.

    Of several paths the files of each. Raises `StorageError` if there is none, or if one cannot be looked at.
    """
    if not isinstance(given, str):
        return [file for path in given for file in found_files(path, folder, name)]
    if is_database(given):
        return [databases(given).copied_rows(given, copy_folder(without_secrets(given), "rows"))]
    if _ADDRESS.match(given):
        raise InputError(f"{name}.path", "a path: copy the files here first, or name a database", given)
    path = folder / given
    file, member = split_member(path)
    if member is not None and is_there(file):
        return [path]
    if is_there(path):
        found = files_in(path, SHARDS) if is_folder(path) else [path]
    else:
        found = files_matching(given, folder, SHARDS) if is_pattern(given) else []
    if not found:
        raise StorageError(path, f"{name}: there is no such file")
    return found


def check_not_emptied(changes: "Iterable[FileChange]", folder: Path) -> None:
    """Raise `StorageError` if a file is gone and left its folder empty, as a disk does that is not mounted."""
    for each in changes:
        place = (folder / each.path).parent
        if each.state == "gone" and is_there(place) and is_folder(place) and not any(place.iterdir()):
            problem = (
                f"an empty folder, which had {each.gone:,} targets. Is its disk mounted? If not, remove the folder"
            )
            raise StorageError(place, problem)


def stamps(paths: Iterable[Path], folder: Path) -> list[FileStamp]:
    """Return the stamps of files, whose paths are seen from `folder`. Raises `StorageError` if one cannot be read."""
    found = []
    for path in paths:
        with storage_errors(path):
            name = os.fsencode(os.path.relpath(path, folder)).decode("utf-8", "replace")
            found.append(FileStamp(path=name, **record_of(split_member(path)[0]).model_dump()))
    return found


def same(some: Iterable[FileStamp], others: Iterable[FileStamp]) -> bool:
    """Return whether the content of some files is that of others, whatever their names and times."""
    return [each.sha256 for each in some] == [each.sha256 for each in others]


FILE, DIGEST = "file", "digest"
DIGEST_BYTES = 16
_DIGESTS = pa.binary(DIGEST_BYTES)
_NO_TARGETS = pa.table(
    {ID_COLUMN: pa.array([], pa.int64()), FILE: pa.array([], pa.int32()), DIGEST: pa.array([], _DIGESTS)}
)
_NEW, _OTHER, _SAME = 0, 1, 2


@dataclass(frozen=True)
class FileChange:
    """The change of a file, and of its targets. `gone` counts those that no file has any more."""

    path: str
    state: Literal["new", "changed", "unchanged", "gone"]
    rows: int
    new: int = 0
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True)
class FileTargets:
    """Targets of a file that are new or changed: their vectors (p, d) as given, ids, payload, and rows (p,) in it."""

    vectors: VectorSource
    ids: pa.Array
    payload: pa.Table | None
    rows: I64


@dataclass(frozen=True, eq=False)
class RowChanges:
    """The changes that the files ask for.

    `table` has id, file and digest of each target in them. `opened` and `puts` are new and changed files and their rows
    to put, by the number of the file. `dim` is that of the vectors that were read.
    """

    files: list[FileChange]
    sources: list[SourceRecord]
    table: pa.Table
    opened: dict[int, Items]
    puts: dict[int, I64]
    gone: pa.Array
    dim: int | None

    @property
    def counts(self) -> dict[str, int]:
        new, changed = (sum(getattr(each, name) for each in self.files) for name in ("new", "changed"))
        return {"new": new, "changed": changed, "gone": len(self.gone)}

    def put(self) -> Iterator[FileTargets]:
        for number, rows in self.puts.items():
            opened = self.opened[number]
            if len(rows) and opened.ids is not None:
                payload = None
                if opened.payload is not None:
                    names = opened.payload_columns
                    payload = held_payload(open_dataset(payload_rows(opened.payload, names, rows)), names, rows).table()
                chosen = SelectedVectors(opened.vectors, rows, opened.vectors.name)
                yield FileTargets(chosen, opened.ids.take(pa.array(rows)), payload, rows)


class KnownTargets(NamedTuple):
    """The files that a version knows, and the table of their targets: ids, digests, and the number of the file."""

    sources: Sequence[SourceRecord] = ()
    table: pa.Table = _NO_TARGETS

    def unchanged(self, files: Sequence[SourceFile], now: Sequence[list[FileStamp]]) -> dict[int, int]:
        """Return the number that each file had, by its number now, of files that are as they were."""
        there = {record.files[0].path: number for number, record in enumerate(self.sources)}
        before = {number: there.get(stamp[0].path) for number, stamp in enumerate(now)}
        return {
            number: was
            for number, was in before.items()
            if was is not None
            and same(now[number], self.sources[was].files)
            and files[number].column == self.sources[was].ids
        }


def row_changes(
    files: Sequence[SourceFile], now: Sequence[list[FileStamp]], known: KnownTargets, job: ReindexJob
) -> RowChanges:
    """Compare the targets of files, whose stamps are `now`, with those that are known."""
    table = known.table
    kept = known.unchanged(files, now)
    paths = {record.files[0].path for record in known.sources}
    left = table.filter(pc.invert(pc.is_in(table[FILE], pa.array(list(kept.values()), pa.int32()))))

    opened = {number: _opened(file, files, job) for number, file in enumerate(files) if number not in kept}
    parts = []
    puts = {}
    changes = []
    for number, stamp in enumerate(now):
        if number in kept:
            rows = table.filter(pc.equal(table[FILE], kept[number]))
            changes.append(FileChange(stamp[0].path, "unchanged", len(rows)))
        else:
            rows = pa.table({ID_COLUMN: opened[number].ids, DIGEST: _digests(opened[number], job.metric)})
            kinds = _compared(rows, left)
            puts[number] = np.flatnonzero(kinds != _SAME)
            counts = [int((kinds == kind).sum()) for kind in (_NEW, _OTHER)]
            changes.append(
                FileChange(stamp[0].path, "changed" if stamp[0].path in paths else "new", len(rows), *counts)
            )
        parts.append(
            rows.select([ID_COLUMN, DIGEST]).append_column(FILE, pa.array(np.full(len(rows), number, np.int32)))
        )
    joined = _joined(parts, files)
    gone = left.filter(pc.invert(pc.is_in(left[ID_COLUMN], joined[ID_COLUMN].combine_chunks()))) if len(left) else left
    lost = paths - {stamp[0].path for stamp in now}
    records = [
        SourceRecord(files=stamp, rows=each.rows, ids=file.column)
        for stamp, each, file in zip(now, changes, files, strict=True)
    ]
    changes = _with_gone(changes, gone, known.sources, lost)
    return RowChanges(changes, records, joined, opened, puts, gone[ID_COLUMN].combine_chunks(), _dim(opened.values()))


def _dim(opened: Iterable[Items]) -> int | None:
    """Return the dimensions of the vectors of files; None without files. Raises `InputError` if they differ."""
    dims = {each.vectors.shape[1]: each.vectors.name for each in opened}
    if len(dims) > 1:
        (first, name), (second, other), *_ = dims.items()
        raise InputError(other, f"{first} dimensions, as {name} has", second)
    return next(iter(dims), None)


def _compared(rows: pa.Table, known: pa.Table) -> NDArray[np.int8]:
    """Compare rows with the known ones of their ids: new, with other content, or the same."""
    if not len(known):
        return np.zeros(len(rows), np.int8)
    if known[ID_COLUMN].type != rows[ID_COLUMN].type:
        raise InputError("ids", f"{known[ID_COLUMN].type}, as they were", rows[ID_COLUMN].type)
    places = pc.index_in(rows[ID_COLUMN].combine_chunks(), known[ID_COLUMN].combine_chunks())
    before = known[DIGEST].combine_chunks().take(places)
    equal = pc.fill_null(pc.equal(rows[DIGEST].combine_chunks(), before), False).to_numpy(zero_copy_only=False)
    there = places.is_valid().to_numpy(zero_copy_only=False)
    return np.where(equal, _SAME, np.where(there, _OTHER, _NEW)).astype(np.int8)


def _opened(file: SourceFile, files: Sequence[SourceFile], job: ReindexJob) -> Items:
    opened = open_targets(
        file.path,
        file.column or file.ids,
        file.payload,
        job.payload_schema or None,
        metric=job.metric,
        skip_bad_rows=job.skip_bad_rows,
    )
    if job.skip_bad_rows:
        opened, _ = without_bad_rows(opened, job.metric)
    if opened.ids is not None:
        return opened
    if len(files) > 1:
        expected = "ids, as row numbers of several files would name other targets each"
        raise InputError(f"targets ({file.path.name})", expected, "a file without")
    return replace(opened, ids=pa.array(np.arange(opened.vectors.shape[0])))


def _digests(opened: Items, metric: Metric) -> pa.Array:
    """Return the digests of the rows of a file, which are checked under the metric: later their numbers are others."""
    payload = None if opened.payload is None else _payload_rows(opened.payload, sorted(opened.payload_columns))
    digests = bytearray()
    for block, _ in checked_blocks(opened.vectors, Space(metric, opened.vectors.shape[1])):
        for row in block:
            digest = hashlib.blake2b(row.data, digest_size=DIGEST_BYTES)
            if payload is not None:
                digest.update(next(payload))
            digests += digest.digest()
    return pa.FixedSizeBinaryArray.from_buffers(_DIGESTS, len(digests) // DIGEST_BYTES, [None, pa.py_buffer(digests)])


def _payload_rows(payload: Dataset, columns: list[str]) -> Iterator[bytes]:
    with reading_payload():
        for batch in payload.scanner(columns=columns).to_batches():
            try:
                rows = batch.to_pylist()
            except UNREADABLE as error:
                raise InputError("payload", "values that Python can hold", one_line(error)) from error
            for row in rows:
                # a column that comes later is null until then, which is no change
                yield repr([each for each in row.items() if each[1] is not None]).encode("utf-8", "replace")


def _joined(parts: Sequence[pa.Table], files: Sequence[SourceFile]) -> pa.Table:
    types = {part[ID_COLUMN].type: file.path.name for part, file in zip(parts, files, strict=True)}
    if len(types) > 1:
        raise InputError("targets", "ids of one type", ", ".join(f"{kind} in {name}" for kind, name in types.items()))
    table = pa.concat_tables([part.select([ID_COLUMN, FILE, DIGEST]) for part in parts]).combine_chunks()
    ids = table[ID_COLUMN].combine_chunks()
    if rows := rows_of_repeated(ids, pc.sort_indices(ids)):
        first, second = (files[table[FILE][row].as_py()].path.name for row in rows)
        raise DuplicateIds(
            "targets", "ids that stand once in all files", f"{ids[rows[0]].as_py()!r} in {first} and in {second}"
        )
    return table


def _with_gone(
    changes: list[FileChange], gone: pa.Table, known: Sequence[SourceRecord], lost: set[str]
) -> list[FileChange]:
    numbers, counts = np.unique(gone[FILE].to_numpy(), return_counts=True)
    by_path = {known[number].files[0].path: int(count) for number, count in zip(numbers, counts, strict=True)}
    seen = [replace(each, gone=by_path.get(each.path, 0)) for each in changes]
    return [*seen, *(FileChange(path, "gone", 0, gone=by_path.get(path, 0)) for path in sorted(lost))]
