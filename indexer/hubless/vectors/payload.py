"""Payload beside the targets. Its file is mapped: processes share it, and reading a few rows costs little."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, advice, names_of, one_line
from hubless.vectors.arrays import Flags, to_arrow
from hubless.vectors.fetched import fetched_file, reading_given
from hubless.vectors.free_payload import FreeBatch, free_rows, is_free
from hubless.vectors.ids import ID_COLUMN, PANDAS_INDEX, id_array, repeated
from hubless.vectors.listing import is_folder, is_there
from hubless.vectors.object_rows import by_column
from hubless.vectors.payload_types import check_types
from hubless.vectors.plain_arrow import plain_file
from hubless.vectors.readers.arrow_rows import Dataset, open_arrow, open_dataset, open_parquet
from hubless.vectors.readers.formats import Use, endings_of, format_of
from hubless.vectors.readers.json_rows import array_of, json_document, read_jsonl
from hubless.vectors.readers.kept_values import ArrowColumn
from hubless.vectors.readers.payload_text import TYPES, as_type, read_csv
from hubless.vectors.readers.several_files import Shard, shard_files, stacked_payload
from hubless.vectors.readers.tabular import check_names

PayloadLike: TypeAlias = str | Path | pa.Table | Sequence[Mapping[str, Any]] | Mapping[str, Any] | Any
"""Forms of payload that `as_payload` takes."""
PayloadTypes: TypeAlias = Mapping[str, str]
"""Names of types by column: see `hubless.vectors.readers.payload_text.TYPES`."""


_FEW = 20
_TABLES = {"Parquet": open_parquet, "Arrow IPC": open_arrow}


class Masks(Protocol):
    """A filter: says of each row of a batch whether it selects it."""

    @property
    def key(self) -> str:
        """The same for filters that select the same."""

    def mask(self, rows: pa.RecordBatch) -> pa.Array:
        """Return a mask of the selected rows of a batch, booleans without nulls."""


class PayloadRows(Protocol):
    """The payload of n targets, row by row in their order."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    def __len__(self) -> int: ...

    def take(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Some rows, in this order, all columns or some."""

    def table(self) -> pa.Table:
        """All rows."""


class Payload:
    """The payload of n targets, row by row in their order."""

    def __init__(self, table: pa.Table) -> None:
        self.schema: pa.Schema = table.schema
        self.batches: list[pa.RecordBatch] = table.to_batches()
        self._starts = np.array([0, *accumulate(batch.num_rows for batch in self.batches)])
        self._free = is_free(table.schema)
        self._asked = [FreeBatch(batch) for batch in self.batches] if self._free else self.batches

    @classmethod
    def open(cls, path: Path) -> "Payload":
        """Return the payload in a file, mapped into memory. Raises `ArrowException` if the file cannot be read."""
        return cls(plain_file(path))  # sound: whatever the file holds, a lookup may not read outside it

    def part(self, start: int, stop: int) -> "Payload":
        """The payload of the rows from one up to another."""
        return self if start == 0 and stop == len(self) else Payload(self.table().slice(start, stop - start))

    def with_rows(self, more: pa.Table) -> "Payload":
        """Return these rows, and then more. Batches of like size become one, so each is copied rarely."""
        grown = copy(self)
        grown.batches, grown._asked = [*self.batches], [*self._asked]
        for batch in more.combine_chunks().to_batches():
            while grown.batches and 2 * batch.num_rows >= grown.batches[-1].num_rows:
                grown._asked.pop()
                (batch,) = pa.Table.from_batches([grown.batches.pop(), batch]).combine_chunks().to_batches()
            grown.batches.append(batch)
            grown._asked.append(FreeBatch(batch) if self._free else batch)
        grown._starts = np.array([0, *accumulate(batch.num_rows for batch in grown.batches)])
        return grown

    def mask(self, filter: Masks) -> Flags:
        masks = [filter.mask(batch).to_numpy(zero_copy_only=False) for batch in self._asked]
        return np.concatenate([np.empty(0, np.bool_), *masks])

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self.batches, self.schema)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        wanted = np.asarray(rows, np.int64)
        taken: list[dict[str, Any]] = [{}] * len(wanted)
        owners = np.searchsorted(self._starts, wanted, "right") - 1
        for owner in {*owners.tolist()}:
            places = np.flatnonzero(owners == owner)
            batch = self.batches[owner]
            some = wanted[places] - self._starts[owner]
            if self._free:
                found = free_rows(batch, columns, some.tolist())
            else:
                chosen = batch if columns is None else batch.select(list(columns))
                if len(some) < _FEW:  # a function of Arrow costs as much as to read many
                    named = dict(zip(chosen.schema.names, chosen.columns, strict=True)).items()
                    found = [{name: column[row].as_py() for name, column in named} for row in some.tolist()]
                else:
                    found = chosen.take(to_arrow(some)).to_pylist()
            for place, row in zip(places.tolist(), found, strict=True):
                taken[place] = row
        return taken


def as_payload(payload: "PayloadLike", types: "PayloadTypes | None" = None) -> Dataset:
    """Return payload of any kind, one row a target: a file, a list of dicts, a dict of columns, or a table.

    A dict that lacks a key of another has null there. An index of pandas without a name is left out. `types` are names
    of `hubless.vectors.readers.payload_text.TYPES` by column. Raises `StorageError` and `InputError`.
    """
    if isinstance(payload, str | Path):
        return open_payload(payload, types)
    expected = "a table, a dict of columns, or a list of dicts"
    try:
        opened = open_dataset(as_table(payload))
        names = list(opened.schema.names)
    except UnicodeError as error:
        raise InputError("payload", "names of columns in Unicode", one_line(error)) from error
    except InputError:
        raise
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        raise InputError("payload", expected, one_line(error)) from error
    check_names(names, "payload")
    return typed_payload(opened, types)


def parted_ids(payload: Dataset) -> tuple[pa.Array | None, list[str]]:
    """Return the column `id` of payload as ids, None without one, and the names of the other columns."""
    columns = list(payload.schema.names)
    if ID_COLUMN not in columns:
        return None, columns
    name = f"payload, column {ID_COLUMN}"
    with no_ids_advised():
        ids = id_array(payload.to_table(columns=[ID_COLUMN]).column(0), name)
        if (twice := repeated(ids)) is not None:
            raise InputError(name, "an id for each target, each once", twice)
    return ids, [column for column in columns if column != ID_COLUMN]


@contextmanager
def no_ids_advised() -> Iterator[None]:
    """Say in an error about a column of ids what to do if these are none."""
    try:
        yield
    except InputError as error:
        hint = "if these are no ids, rename the column" + advice(", or give the ids apart ({})", "ids")
        raise InputError(error.parameter, f"{error.expected}; {hint}", error.received) from error


def known_types(types: "PayloadTypes | None") -> dict[str, pa.DataType]:
    """Return the types of columns by name. Raises `InputError` for one that there is not."""
    if not isinstance(types or {}, Mapping):
        raise InputError("payload schema", 'types by column, such as {"zip": "string"}', repr(types))
    for name, kind in (types or {}).items():
        if not isinstance(name, str) or kind not in [*TYPES]:
            raise InputError(f"payload_schema.{name}", f"one of {', '.join(TYPES)}", kind)
    return {name: TYPES[kind] for name, kind in (types or {}).items()}


def typed_payload(opened: Dataset, types: "PayloadTypes | None", columns: Sequence[str] | None = None) -> Dataset:
    """Return the rows with columns in the types that were asked for. `columns` are payload; None for all."""
    check_types(opened.schema)
    wanted = known_types(types)
    names = list(opened.schema.names if columns is None else columns)
    for name in wanted:
        if name not in names:
            raise InputError("payload schema", f"columns of the payload, {names_of(names)}", name)
    if all(opened.schema.field(name).type == kind for name, kind in wanted.items()):
        return opened
    table = opened.to_table(columns=names)
    columns = [
        as_type(name, column, wanted.get(name, column.type))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return open_dataset(pa.table(columns, table.column_names))


def as_table(payload: Any) -> pa.Table:
    """Return a table of Arrow, pandas or polars, a dict of columns or a list of dicts as a table of Arrow."""
    if isinstance(payload, pa.Table):
        return _looked_up(payload)
    if hasattr(payload, "__arrow_c_stream__"):
        return _looked_up(_streamed(payload))
    if isinstance(payload, Mapping):
        return pa.table(
            {
                name: array_of(name, values) if isinstance(values, list) else _checked(name, values, pa.array(values))
                for name, values in payload.items()
            }
        )
    rows = list(payload)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"payload, row {number}", "a dict", type(row).__name__)
    # all rows' keys, in the order in which they are first seen; pa.Table.from_pylist looks at the first row only
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: array_of(name, [row.get(name) for row in rows]) for name in names})


def _streamed(payload: Any) -> pa.Table:
    table = pa.table(payload)
    for name in payload.columns if hasattr(payload, "dtypes") else ():
        _checked(name, payload[name], table[name])
    return table.select([name for name in table.column_names if not name.startswith(PANDAS_INDEX)])


def _checked(name: str, values: Any, made: ArrowColumn) -> ArrowColumn:
    """Return what Arrow made of a column of pandas or NumPy. Raises `InputError` for a Python object that it cut."""
    kind = made.type
    if str(getattr(values, "dtype", "")) == "object" and (pa.types.is_temporal(kind) or pa.types.is_floating(kind)):
        array_of(name, [None if value != value else value for value in values])  # NaN, or NaT
    return made


def _looked_up(table: pa.Table) -> pa.Table:
    """Return a table whose categories, as polars has them, are texts that Arrow's kernels can look up."""
    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and kind.value_type == pa.string_view():
            plain = table.column(place).cast(pa.dictionary(kind.index_type, pa.large_string()))
            table = table.set_column(place, field.name, plain)
    return table


_TEXTS = {
    "CSV": read_csv,
    "JSON lines": read_jsonl,
    "JSON": lambda path, types: as_table(by_column(json_document(path))),
}
"""What reads the formats of texts that may hold payload; `_TABLES` reads the others."""


def open_payload(path: str | Path, types: PayloadTypes | None = None) -> Dataset:
    """Return payload, one row a target, from a file, in some types by column.

    `hubless.vectors.readers.formats` says which files may hold payload. A folder stands for its files, of one kind.
    """
    path = Path(path)
    name = f"payload ({path.name})"
    if is_there(path) and is_folder(path):
        shards = {}
        for file in shard_files(path, endings_of(Use.PAYLOAD), name):
            opened = open_payload(file, types)
            shards[file] = Shard(opened, opened.schema.names, opened.count_rows())
        return stacked_payload(shards, path, name)[0]
    fetched_file(path, "payload")
    kind = format_of(path, name, Use.PAYLOAD).name
    with reading_given(path, name):
        if kind in _TEXTS:
            opened = open_dataset(_TEXTS[kind](path, known_types(types)))
        else:
            opened = _TABLES[kind](path, name).payload(())
        check_names(opened.schema.names, name)
        return typed_payload(opened, types)
