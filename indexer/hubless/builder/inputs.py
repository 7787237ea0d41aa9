"""The inputs of a build: opened, checked against each other, recorded, and read once.

Rows are hashed and normalised as they are read. Arrays stay in memory. Rows of anything else go to a temporary file,
which is mapped. With an executor arrays go there too.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from hubless.builder.executors import SHARED
from hubless.builder.items import (
    column_of_ids,
    open_given,
    open_targets,
    reading_payload,
    without_bad_rows,
)
from hubless.builder.numbers_by_id import numbers_by_id
from hubless.builder.recipe import Recipe
from hubless.corrections.grouped import GroupedVectors, Names, group_names, rows_by_group
from hubless.corrections.prior import (
    OWN_OFFSETS,
    PRIOR,
    NumberOfTarget,
    PriorLike,
    TargetPrior,
    as_prior,
    checked_prior,
)
from hubless.corrections.traits import TargetTraits
from hubless.encoders import ENCODER_FILE, WORDS_FILE, Encoder, FolderModel, SentenceModel, load_encoder
from hubless.errors import HublessError, InputError, StorageError, UnknownField, names_of, storage_errors
from hubless.kernels import sharding
from hubless.measures.confidence.calibration_pairs import calibrating_rows
from hubless.measures.confidence.cut import Cut
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.search.parts import prior_of
from hubless.store import bundle
from hubless.store.address import address_of
from hubless.store.bundle import FileRecord, FileStamp, InputRecord
from hubless.vectors.arrays import F32, I64, check_dim, to_arrow
from hubless.vectors.bad_rows import with_count
from hubless.vectors.basis import AUTO, Basis, as_compared, check_dims, fit_directions
from hubless.vectors.comparing import OF_TARGETS, ComparedSide, comparison, side_of
from hubless.vectors.files import SHARDS, Items, Vectors, as_items
from hubless.vectors.free_payload import free_table, is_free
from hubless.vectors.ids import Ids, write_ids
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import split_member
from hubless.vectors.payload import (
    Dataset,
    Payload,
    PayloadLike,
    PayloadTypes,
    as_payload,
    open_dataset,
)
from hubless.vectors.payload_types import check_values, payload_schema, stored_rows
from hubless.vectors.sources import (
    ArrayVectors,
    HeldVectors,
    SharedVectors,
    VectorSource,
    block_rows,
    in_memory,
    sample,
    under_metric,
)

_Stamp = tuple[int, int, int, int]
_READ = (*SHARDS, ".json")
"""Endings of the files in a folder that a build reads: shards of vectors, and an encoder."""


class InputStamps:
    """The files and folders among some inputs, as they were when this was made, before anything was read."""

    def __init__(self, **inputs: object) -> None:
        self._paths = {name: split_member(given)[0] for name, given in inputs.items() if isinstance(given, str | Path)}
        self._stamps = {name: _stamps(path) for name, path in self._paths.items()}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise `InputError` if a file has changed by the end of the block, also in place of an error of the block."""
        try:
            yield
        except (HublessError, OSError) as error:
            self._check(error)
            raise
        self._check()

    def _check(self, error: Exception | None = None) -> None:
        for name, path in self._paths.items():
            now, before = _stamps(path), self._stamps[name]
            for file in sorted({*before, *now}):
                if now.get(file) != before.get(file):
                    what = f"{name.replace('_', ' ')} ({file.name})"
                    got = "one that was changed" if file in now else "one that is gone"
                    raise InputError(what, "a file that stays as it is while it is read", got) from error


def _stamps(path: Path) -> dict[Path, _Stamp]:
    """Return stamps that tell a file from the one that takes its place; of a folder, for each file that is read."""
    found, files = dict[Path, _Stamp](), [path]
    with suppress(OSError):  # the reader says it better
        if path.is_dir():
            files = [each for each in path.iterdir() if ending_of(each) in _READ]
    for file in files:
        with suppress(OSError):  # one that goes after it was listed hides no other
            stat = file.stat()
            found[file] = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found


MOST_STANDING_IN = 1000
"""So many targets at most stand in for queries where there is no bank."""


@dataclass(frozen=True)
class Contents:
    """The ids (n,), the payload (n,) rows and the encoder of a version."""

    ids: pa.Array
    payload: Dataset | None
    payload_columns: list[str]
    encoder: Encoder | None

    @classmethod
    def of_table(cls, ids: pa.Array, payload: pa.Table | None, encoder: Encoder | None) -> "Contents":
        columns = [] if payload is None else payload.column_names
        return cls(ids, open_dataset(payload) if columns else None, columns, encoder)

    def write(self, folder: Path) -> None:
        write_ids(self.ids, folder / bundle.IDS)
        if self.payload is not None:
            write_payload(self.payload, self.payload_columns, folder)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of a build as users give them: see `hubless.build`."""

    targets: Vectors
    query_bank: Vectors | None
    target_bank: Vectors | None = None
    live_queries: Vectors | None = None
    ids: Ids | None = None
    payload: PayloadLike | None = None
    payload_schema: PayloadTypes | None = None
    encoder: str | Path | Encoder | None = None
    target_prior: PriorLike | None = None
    offsets: PriorLike | None = None
    fit_by: str | None = None
    relevant: Labels | None = None
    skip_bad_rows: bool = False

    def __post_init__(self) -> None:
        for name, given in self._files.items():
            if isinstance(given, str | Path) and (address := address_of(given)) is not None:
                raise InputError(name.replace("_", " "), "a file on this machine: copy it here first", address)

    def seen(self) -> InputStamps:
        return InputStamps(**self._files)

    @property
    def _files(self) -> dict[str, Any]:
        others = ("payload_schema", "skip_bad_rows", "fit_by")
        return {name: given for name, given in vars(self).items() if name not in others}

    def open(self, metric: str) -> "tuple[BuildVectors, Contents]":
        """Open all inputs, check them against each other, and leave bad rows out if that is asked for."""
        given = {
            name: open_given(getattr(self, name), name.replace("_", " "), metric, skip_bad_rows=self.skip_bad_rows)
            for name in ("query_bank", "target_bank", "live_queries")
            if getattr(self, name) is not None
        }
        items = open_targets(
            self.targets, self.ids, self.payload, self.payload_schema, metric=metric, skip_bad_rows=self.skip_bad_rows
        )
        count, dim = items.vectors.shape
        for each in given.values():
            check_dim(each.vectors.shape[1], dim, each.vectors.name, items.vectors.name)
        encoder = load_encoder(Path(self.encoder), dim) if isinstance(self.encoder, str | Path) else self.encoder
        if isinstance(encoder, SentenceModel | FolderModel):
            encoder.check()  # not an endpoint, whose key may be set only where the collection is served
        if encoder is not None:
            check_dim(encoder.dim, dim, "encoder", items.vectors.name)
        prior, column = None, None
        for numbers, kind in ((self.target_prior, PRIOR), (self.offsets, OWN_OFFSETS)):
            if numbers is not None:
                prior, column = _prior(numbers, items, kind)
        items = replace(items, ids=to_arrow(np.arange(count)) if items.ids is None else items.ids)
        relevant = None
        if self.relevant is not None:
            if self.query_bank is None:
                raise InputError("relevant", "none without a query bank, whose right targets it has", "some")
            relevant = calibrating_rows(self.relevant, KnownItems(count, items.ids), known_queries(given["query_bank"]))
        kept: dict[str, I64 | None] = {}
        if self.skip_bad_rows:
            items, kept["targets"] = without_bad_rows(items, metric)
            for name, each in given.items():
                given[name], kept[name] = without_bad_rows(each, metric)
            if prior is not None and (rows := kept["targets"]) is not None:
                prior = prior.taken(rows)
            relevant = _labels_left(relevant, kept.get("query_bank"), kept["targets"])
        grouping = None
        if self.fit_by is not None:
            of_targets = group_names(column_table(items, self.fit_by), self.fit_by, "payload")
            grouping = checked_grouping(self.fit_by, of_targets, bank_groups_of(given["query_bank"], self.fit_by))
        if self.query_bank is None:  # some of the targets choose and check the index
            given["query_bank"] = as_items(in_memory(sample(items.vectors, MOST_STANDING_IN)), "query bank")
        given["targets"] = items
        paths = {"payload": self.payload, "encoder": self.encoder, "relevant": self.relevant}
        paths |= {} if column_of_ids(self.ids) else {"ids": self.ids}
        paths |= {} if column else {"target_prior": self.target_prior, "offsets": self.offsets}
        vectors: dict[str, Any] = {name: each.vectors for name, each in given.items()}
        return (
            BuildVectors(
                **vectors,
                target_prior=prior,
                prior_column=column,
                grouping=grouping,
                bank_given=self.query_bank is not None,
                records={
                    name: files_record(_files(split_member(at)[0]))
                    for name, at in paths.items()
                    if isinstance(at, str | Path)
                },
                relevant=relevant,
                files={name: each.files for name, each in given.items() if each.files},
            ),
            Contents(items.ids, items.payload, list(items.payload_columns), encoder),
        )


def _labels_left(
    relevant: list[I64 | None] | None, queries: I64 | None, targets: I64 | None
) -> list[I64 | None] | None:
    """Return the right targets of the queries that are left, by their rows among the targets that are left."""
    if relevant is None:
        return None
    if queries is not None:
        relevant = [relevant[query] for query in queries]
    if targets is not None:
        kept = [None if rows is None else rows[np.isin(rows, targets)] for rows in relevant]
        relevant = [None if rows is None else np.searchsorted(targets, rows) for rows in kept]
    return relevant


@dataclass(frozen=True)
class Grouping:
    """The groups of targets (n,) and of bank queries (b,), which a payload column names."""

    column: str
    of_targets: Names
    of_queries: Names


def column_table(items: Items, column: str) -> pa.Table | None:
    """Return one column of the payload of some items; if it is not there, no rows of those that are."""
    if items.payload is None:
        return None
    with reading_payload():
        if column in items.payload_columns:
            return items.payload.to_table(columns=[column])
        return items.payload.schema.empty_table().select(list(items.payload_columns))


def bank_groups_of(items: Items, column: str, name: str = "the query bank") -> Names:
    """Return the groups of the queries of a bank. Raises `InputError` naming the bank, if it has no such column."""
    return group_names(column_table(items, column), column, f"payload of {name}")


def checked_grouping(column: str, of_targets: Names, of_queries: Names) -> Grouping:
    """Return the groups. Raises `InputError` if no query is of a group that has targets."""
    known, asked = (sorted(rows_by_group(names)) for names in (of_targets, of_queries))
    if not set(known) & set(asked):
        some = [", ".join(map(repr, names[:3])) or "none" for names in (known, asked)]
        raise InputError(f"query bank, column {column}", f"groups that have targets, such as {some[0]}", some[1])
    return Grouping(column, of_targets, of_queries)


@dataclass(frozen=True, kw_only=True)
class BuildVectors:
    """The vectors of a build, as given and then as they are compared with each other, and the records of all inputs.

    Without a query bank (`bank_given`) targets stand in for it. `prior_column` has the target prior, if a column does.
    `relevant` has the rows of the right targets of each bank query, None where nobody knows; without it the
    calibration of `calibrated` is kept.
    """

    targets: VectorSource
    query_bank: VectorSource
    target_bank: VectorSource | None = None
    live_queries: VectorSource | None = None
    target_prior: TargetPrior | None = None
    prior_column: str | None = None
    grouping: Grouping | None = None
    basis: Basis | None = None
    records: dict[str, InputRecord] = field(default_factory=dict)
    bank_given: bool = True
    relevant: list[I64 | None] | None = None
    calibrated: Cut | None = None
    files: dict[str, tuple[Path, ...]] = field(default_factory=dict)

    @property
    def traits(self) -> TargetTraits:
        """The traits of the targets: their prior, or their groups."""
        prior, grouping = self.target_prior, self.grouping
        return TargetTraits(None if prior is None else prior.values, None if grouping is None else grouping.of_targets)

    @property
    def bank_with_groups(self) -> VectorSource:
        """The query bank, with the group of each query if there are groups."""
        if self.grouping is None:
            return self.query_bank
        return GroupedVectors(in_memory(self.query_bank), self.query_bank.name, self.grouping.of_queries)


def _prior(given: PriorLike, items: Items, kind: NumberOfTarget) -> tuple[TargetPrior, str | None]:
    """Return one number a target, and its payload column: that of this name, or other text is a file."""
    count, payload, columns = items.vectors.shape[0], items.payload, list(items.payload_columns)
    if not isinstance(given, str) or given not in columns or payload is None:
        try:
            if isinstance(given, str | Path) and (by_id := numbers_by_id(given, kind.name)) is not None:
                return checked_prior(by_id.of(items.ids, count), count, by_id.name, kind), None
            return as_prior(given, count, kind), None
        except StorageError as error:
            if not isinstance(given, str) or Path(given).suffix:
                raise
            known = f"or a payload column: {names_of(columns)}" if columns else "as there is no payload"
            raise InputError(kind.name, f"a file, {known}", given) from error
    with reading_payload():
        values = payload.to_table(columns=[given]).column(0)
    name = f"{kind.name} (payload column {given})"
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(name, "numbers", f"{values.type}")
    return checked_prior(values.to_numpy(), count, name, kind), given


def column_prior(
    column: str, payload: pa.Table | None, median: float | None = None, kind: NumberOfTarget = PRIOR
) -> TargetPrior:
    """Return the prior of a payload column. Targets whose column does not say count as the median of the others."""
    parameter = kind.name.replace(" ", "_")
    names = [] if payload is None else payload.column_names
    if payload is None or column not in names:
        raise InputError(parameter, f"a payload column: {', '.join(names) or 'there is none'}", column)
    of_column = payload.schema.field(column).type
    if not (pa.types.is_integer(of_column) or pa.types.is_floating(of_column)):
        raise InputError(f"{parameter} (payload column {column})", "numbers", f"{of_column}")
    values = prior_of(payload, column, kind)
    if median is None and np.isnan(values).all():
        raise InputError(f"{parameter} (payload column {column})", "a number of some target", "none")
    return TargetPrior(np.where(np.isnan(values), np.nanmedian(values) if median is None else median, values))


def files_record(files: Sequence[Path]) -> InputRecord:
    """Return the record of a file, or of a folder."""
    records = []
    for file in files:
        with storage_errors(file):
            records.append(bundle.record_of(file))
    # a manifest is Unicode, the name of a file need not be
    name = os.fsencode(files[0].name if len(files) == 1 else files[0].parent.name).decode("utf-8", "replace")
    return input_record(name, records)


def input_record(name: str, records: Sequence[FileRecord | FileStamp]) -> InputRecord:
    """Return the record of the files of one input, of several by the hash of their hashes."""
    together = hashlib.sha256("".join(record.sha256 for record in records).encode()).hexdigest()
    sha256 = records[0].sha256 if len(records) == 1 else together
    return InputRecord(name=name, size=sum(record.size for record in records), sha256=sha256)


def _files(path: Path) -> list[Path]:
    return [path / name for name in (ENCODER_FILE, WORDS_FILE) if (path / name).exists()] if path.is_dir() else [path]


def write_payload(payload: Dataset, columns: list[str], folder: Path) -> None:
    """Write payload as an Arrow file, which can be mapped."""
    with reading_payload():
        schema, batches = _stored_batches(payload, columns)
        with pa.OSFile(str(folder / bundle.PAYLOAD), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


def held_payload(payload: Dataset, columns: list[str]) -> Payload:
    """Payload in memory, with the types that it would be stored with. Raises `InputError` as `write_payload`."""
    with reading_payload():
        schema, batches = _stored_batches(payload, columns)
        return Payload(pa.Table.from_batches(batches, schema))


def added_payload(payload: PayloadLike | None, schema: pa.Schema | None, count: int) -> pa.Table | None:
    """Rows to add to a payload of this schema, in its columns. What is not given is null."""
    if schema is None:
        if payload is not None:
            raise InputError("payload", "none, as the index has no payload", "a payload")
        return None
    if is_free(schema):
        rows = [{}] * count if payload is None else _objects(payload)
        if len(rows) != count:
            raise InputError("payload", f"{count} rows, one a vector", f"{len(rows)} rows")
        return free_table(rows)
    if payload is None:
        return pa.table([pa.nulls(count, field.type) for field in schema], schema)
    opened = as_payload(payload)
    columns = list(opened.schema.names)
    for name in columns:
        if name not in schema.names:
            raise UnknownField("payload", f"one of the columns {names_of(schema.names)}", name)
    table = held_payload(opened, columns).table()
    if len(table) != count:
        raise InputError("payload", f"{count} rows, one a vector", f"{len(table)} rows")
    with reading_payload():
        arrays = [
            table[each.name].cast(each.type) if each.name in columns else pa.nulls(count, each.type) for each in schema
        ]
        added = pa.table(arrays, schema)
        for batch in added.to_batches():  # in the zones of the columns, which may differ from those given
            check_values(batch)
        return added


def _objects(payload: PayloadLike) -> Sequence[Mapping[str, Any]]:
    rows: Sequence[Mapping[str, Any]]
    rows = payload if isinstance(payload, list | tuple) else as_payload(payload).to_table().to_pylist()
    return rows


def _stored_batches(payload: Dataset, columns: list[str]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    scanner = payload.scanner(columns=columns)
    schema = payload_schema(scanner.projected_schema)
    return schema, (stored_rows(batch, schema) for batch in scanner.to_batches())


SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)
"""Shares of the dimensions that are tried, ascending."""
CHANGED = 1 / 4
"""The basis may change this part of the number of first hits that the correction changes."""
MOST_TARGETS, MOST_BANK, MOST_ASKED, HELD_OUT = 4096, 2048, 400, 0.2
"""Rows that the number of dimensions is chosen with; the last is the share of bank queries that are asked."""


def fit_basis(
    recipe: Recipe, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Basis | None:
    """Return the basis that a recipe asks for; None if all dimensions are kept, at least beside the index."""
    if recipe.dims is None:
        return None
    check_dims(recipe.dims, targets.shape[1])
    return None if recipe.keep_full else _fitted_basis(recipe, recipe.dims, targets, query_bank, target_bank)


def fit_index_basis(recipe: Recipe, targets: VectorSource, query_bank: VectorSource) -> Basis | None:
    """Return the basis of an index beside whole vectors; None for all dimensions. Products with it are not scaled."""
    if recipe.dims is None or not recipe.keep_full:
        return None
    found = _fitted_basis(recipe, recipe.dims, targets, query_bank, None)
    return None if found is None else Basis(found.directions, "dot")


def _fitted_basis(
    recipe: Recipe, asked: int | str, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Basis | None:
    directions = fit_directions(query_bank, targets if target_bank is None else target_bank, recipe.metric)
    dims = _fewest(recipe, directions, targets, query_bank) if asked == AUTO else int(asked)
    return None if dims == len(directions) else Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric)


def _fewest(recipe: Recipe, directions: F32, targets: VectorSource, query_bank: VectorSource) -> int:
    """Return the fewest dimensions of which the corrected ranking is nearer to that of all than the raw one is.

    A ranking is as near as the first hits that it has in common, of held-out bank queries. Without labels this is the
    best that can be known: the correction is trusted, and the basis may not undo what it does.
    """
    some, bank = sample(targets, MOST_TARGETS), sample(query_bank, MOST_BANK)
    order = np.random.default_rng([recipe.seed, 2]).permutation(bank.shape[0])
    count = min(MOST_ASKED, max(1, int(HELD_OUT * len(order))))
    asked, fitted = bank.take(order[:count]), bank.take(order[count:])
    if len(fitted) < 2:
        return len(directions)

    def firsts(basis: Basis | None) -> Iterator[I64]:
        sides = (ArrayVectors(asked, "queries"), ArrayVectors(fitted, "query bank"), some)
        queries, known, found = (in_memory(as_compared(side, recipe.metric, basis, OF_TARGETS)) for side in sides)
        scores = queries @ found.T
        yield scores.argmax(axis=1)
        yield (scores - recipe.method.fit(known, found).offsets(found)).argmax(axis=1)

    raw, corrected = firsts(None)
    allowed = CHANGED * float(np.mean(raw != corrected))
    for share in SHARES:
        dims = max(1, round(share * len(directions)))
        _, reduced = firsts(Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric))
        if float(np.mean(reduced != corrected)) <= allowed:
            return dims
    return len(directions)


def read_vectors(given: BuildVectors, recipe: Recipe, folder: Path | None = None) -> BuildVectors:
    """Read all vectors, each input once. Temporary files go to the disk of `folder`."""
    basis = fit_basis(recipe, given.targets, given.query_bank, given.target_bank)
    read: dict[str, Any] = {}
    records: dict[str, InputRecord] = {}
    for name in ("targets", "query_bank", "target_bank", "live_queries"):
        if (source := getattr(given, name)) is not None:
            # a bank is kept in the state of most corrections, so there is memory for it
            held, files = name == "query_bank", given.files.get(name)
            read[name], records[name] = read_source(
                source, recipe.metric, side_of(name), folder, held=held, files=files, basis=basis
            )
    if not given.bank_given:
        records.pop("query_bank")
    return replace(given, **read, basis=basis, records={**records, **given.records})


def read_source(
    source: VectorSource,
    metric: str,
    side: ComparedSide,
    folder: Path | None,
    *,
    held: bool,
    files: Sequence[Path] | None = None,
    basis: Basis | None = None,
) -> tuple[VectorSource, InputRecord]:
    """Read one source as `read_vectors` does: its rows as they are compared, and its record."""
    count, dim = source.shape
    if basis is not None and dim == basis.kept:  # reduced already
        basis = None
    digest = hashlib.sha256()
    made = comparison(metric)
    checked = _checked(source, metric, digest.update if files is None else None, side)
    rows = (each if basis is None else basis.reduced(each) for _, each in checked)
    read: VectorSource
    if basis is None and isinstance(source, ArrayVectors) and source.in_memory and not sharding.current():
        for _ in rows:
            pass
        read = under_metric(source, metric, side) if made.lifted or not made.takes_zero else source
    elif held and not sharding.current():
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, (count, made.width(dim) if basis is None else basis.kept), folder, source.name)
    if files is not None:
        return read, files_record(files)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=digest.hexdigest())


def checked_blocks(
    source: VectorSource, metric: str, told: Callable[[memoryview], object] | None = None
) -> Iterator[F32]:
    """Yield the rows of a source as given, block by block, once they are checked under a metric.

    `told` is called with the bytes of each block. An error about a row says how many are like it.
    """
    yield from (given for given, _ in _checked(source, metric, told))


def _checked(
    source: VectorSource, metric: str, told: Callable[[memoryview], object] | None, side: ComparedSide = OF_TARGETS
) -> Iterator[tuple[F32, F32]]:
    """Yield all rows as given, and under the metric."""
    start = 0
    try:
        for block in source.blocks(block_rows(source.shape[1])):
            if told is not None:
                told(block.data)
            yield block, comparison(metric).compared(block, source.name, start, side)
            start += len(block)
    except InputError as error:
        raise with_count(error, source, metric) from error


def in_file(rows: Iterable[F32], shape: tuple[int, int], folder: Path | None, name: str) -> VectorSource:
    """Return checked blocks of rows (n, d) in a temporary file, which has a name only if an executor has to open it."""
    if sharding.current() and folder is not None:
        with tempfile.NamedTemporaryFile(dir=folder / SHARED, delete=False) as shared:
            _write(rows, shared)
        return SharedVectors(Path(shared.name).resolve(), shape[1], 0, shape[0], name)
    with tempfile.TemporaryFile(dir=folder) as file:
        _write(rows, file)
        return HeldVectors(np.asarray(np.memmap(file, np.float32, "r", shape=shape)), name)


def _write(rows: Iterable[F32], file: IO[bytes]) -> None:
    for block in rows:  # written, not stored by way of a map: a full disk would kill the process
        file.write(block.data)
    file.flush()
