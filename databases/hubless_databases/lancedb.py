"""LanceDB: a column beside the others, renamed by one commit. The fits stand in a table of their own."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless_databases.address_checks import check_options, check_there, chosen
from hubless_databases.addresses import DatabaseAddress
from hubless_databases.base import PAGE, Asking, Database, Page, RowId
from hubless_databases.rows_in_pages import belong, metric_of

_FITS = "hubless_fits"
_DISTANCES = {"cosine": "dot", "dot": "dot", "euclidean": "l2"}
_TRIES = 20
"""A version of the table that is made meanwhile refuses ours."""
_SCHEMA = pa.schema([("relation", pa.string()), ("name", pa.string()), ("fit", pa.large_binary())])


class LanceTable(Database):
    """A table of LanceDB in a folder. The column `id` has the ids, or that of `?id=`."""

    title = "LanceDB"
    scores = "[1 - hit['_distance'] for hit in hits]", "[-hit['_distance'] / 2 for hit in hits]"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "id")
        if address.place is None:
            raise InputError("address", "lancedb:///FOLDER/TABLE, on this machine", f"a host, {address.host}")
        self.name = address.table
        self._options = address.options
        self._place = address.place
        self._id = self._vector = ""
        self._metric = "cosine"
        self._lock = -1
        self._database: Any = None
        self._table: Any = None

    def find(self) -> None:
        """Open the table, and find its columns of vectors and ids. Raises `InputError` naming what is not there."""
        self._database = lancedb.connect(str(self._place))
        names = self._names()
        check_there("table", self.name, [name for name in names if name != _FITS])
        self._table = self._database.open_table(self.name)
        schema = self._table.schema
        ours = self._ours()
        vectors = [each.name for each in schema if pa.types.is_fixed_size_list(each.type) and each.name not in ours]
        self._vector = chosen(self._options.get("vector"), vectors, "a column of fixed-size lists")
        self._id = self._options.get("id", "id")
        if self._id not in schema.names:
            raise InputError("id", f"?id= with one of {', '.join(schema.names)}", self._id)
        kind = schema.field(self._id).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise InputError(f"id ({self._id})", "a column of whole numbers or text", kind)

    def _names(self) -> list[str]:
        return sorted(self._database.list_tables(limit=100_000).tables)

    def count(self) -> int:
        return int(self._table.count_rows())

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        schema = self._table.schema
        if into in schema.names and into not in self._written():
            raise InputError("into", "a name that no column has yet", repr(into))
        width = schema.field(self._vector).type.list_size + 1
        alike = [each.name for each in schema if each.name not in self._ours() and _width(each) == width]
        if alike:
            expected = f"a table without another vector column of {width} numbers, by which LanceDB finds a column"
            raise InputError("address", expected, ", ".join(alike))
        self._hold()
        if metric is not None:
            self._metric = metric
        elif (fit := self.fit(into)) is not None:
            self._metric = metric_of(fit)

    def _hold(self) -> None:
        """Keep other runs of this machine away until this process closes the table, or ends."""
        self._lock = os.open(self._place / f"{self.name}.lance", os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError("address", "a table that no other correction is writing to", self.name) from error

    def _commit(self, step: Callable[[], Any]) -> Any:
        """Take a step that makes a version of the table; again if somebody else made one first."""
        for _ in range(_TRIES):
            try:
                self._table.checkout_latest()
                return step()
            except Exception as error:
                if "conflict" not in str(error):
                    raise
        return step()

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        ours = self._ours()
        others = [name for name in self._table.schema.names if name not in {*ours, self._id, self._vector}]
        kept = [lacking] if lacking is not None else []
        chosen = [self._id, self._vector, *kept, *(others if payload else [])]
        self._table.checkout_latest()
        query = self._table.search().select(chosen).where(f"{_quoted(self._vector)} IS NOT NULL")
        for batch in query.limit(self.count()).to_batches(PAGE):
            rows = np.arange(len(batch))
            if lacking is not None:
                rows = rows[~self._have_their_own(batch, lacking)]
            if len(rows):
                some = batch.take(pa.array(rows))
                payloads = some.select(others).to_pylist() if payload and others else []
                yield Page(some.column(self._id).to_pylist(), _matrix(some.column(self._vector)), payloads)

    def _have_their_own(self, batch: Any, into: str) -> NDArray[np.bool_]:
        """Return for each row whether it has a corrected vector, and that of its vector."""
        written = np.asarray(batch.column(into).is_valid())
        rows = pa.array(np.flatnonzero(written))
        some = batch.take(rows)
        written[written] = belong(_matrix(some.column(self._vector)), _matrix(some.column(into)), self._metric)
        return written

    def _fits(self) -> Any:
        return self._database.create_table(_FITS, schema=_SCHEMA, exist_ok=True)

    def _written(self) -> list[str]:
        if _FITS not in self._names():
            return []
        rows = self._fits().search().where(self._of()).select(["name"]).limit(10_000).to_list()
        return sorted({row["name"].removesuffix("_new") for row in rows})

    def _ours(self) -> set[str]:
        return {each for name in self._written() for each in (name, f"{name}_new", f"{name}_old")}

    def _of(self, name: str | None = None) -> str:
        quoted = self.name.replace("'", "''")
        return f"relation = '{quoted}'" + ("" if name is None else f" AND name = '{name}'")

    def _put(self, name: str, fit: bytes) -> None:
        row = pa.table({"relation": [self.name], "name": [name], "fit": pa.array([fit], pa.large_binary())}, _SCHEMA)
        self._fits().merge_insert(["relation", "name"]).when_matched_update_all().when_not_matched_insert_all().execute(
            row
        )

    def _row(self, name: str) -> bytes | None:
        rows = self._fits().search().where(self._of(name)).limit(1).to_list()
        return bytes(rows[0]["fit"]) if rows else None

    def _settle(self, into: str) -> None:
        names = self._table.schema.names
        new = self._row(f"{into}_new")
        if new is not None and f"{into}_new" not in names:
            self._put(into, new)
        if new is not None:
            self._fits().delete(self._of(f"{into}_new"))
        if left := [name for name in (f"{into}_new", f"{into}_old") if name in names]:
            self._commit(lambda: self._table.drop_columns(left))

    def begin(self, into: str, width: int) -> None:
        if into not in self._written():
            self._put(into, b"")  # first, so that the new column is known as ours
        self._settle(into)
        column = pa.field(f"{into}_new", pa.list_(pa.float32(), width))
        self._commit(lambda: self._table.add_columns(column))

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        kind = self._table.schema.field(self._id).type
        keys = pa.array([int(each) if pa.types.is_integer(kind) else str(each) for each in ids], kind)
        self._table.checkout_latest()
        found = self._table.search().where(f"{_quoted(self._vector)} IS NOT NULL AND {self._among(keys)}")
        now = found.select([self._id, self._vector]).limit(len(keys)).to_arrow()
        places = {each: row for row, each in enumerate(keys.to_pylist())}
        rows = np.array([places[each] for each in now[self._id].to_pylist()], np.intp)
        good = belong(_matrix(now[self._vector].combine_chunks()), augmented[rows], self._metric) if len(rows) else rows
        if not good.any():
            return 0
        vectors = _as_lists(augmented[rows[good]])
        written = pa.table({self._id: keys.take(pa.array(rows[good])), into if live else f"{into}_new": vectors})
        merge = self._table.merge_insert(self._id).when_matched_update_all()
        return int(self._commit(lambda: merge.execute(written)).num_updated_rows)

    def _among(self, keys: pa.Array) -> str:
        texts = not pa.types.is_integer(keys.type)
        listed = ["'" + each.replace("'", "''") + "'" if texts else str(each) for each in keys.to_pylist()]
        return f"{_quoted(self._id)} IN ({', '.join(listed)})"

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        self._put(f"{into}_new", fit)
        renamed = [{"path": f"{into}_new", "rename": into}]
        if into in self._table.schema.names:
            renamed.insert(0, {"path": into, "rename": f"{into}_old"})
        self._commit(lambda: self._table.alter_columns(*renamed))
        self._settle(into)

    def fit(self, into: str) -> bytes | None:
        if into not in self._written():
            return None
        renamed = f"{into}_new" not in self._table.schema.names
        return (self._row(f"{into}_new") if renamed else None) or self._row(into) or None

    def undo(self, into: str | None) -> list[str]:
        names = [name for name in self._written() if into in (None, name)]
        ours = {each for name in names for each in (name, f"{name}_new", f"{name}_old")}
        columns = [name for name in self._table.schema.names if name in ours]
        if columns:
            self._commit(lambda: self._table.drop_columns(columns))
        for name in names:
            for each in (name, f"{name}_new"):
                self._fits().delete(self._of(each))
        gone = [f"column {name}" for name in columns]
        if names and not self._fits().count_rows():
            self._database.drop_table(_FITS)
            gone.append(f"table {_FITS}")
        return gone

    def query_lines(self, into: str, asking: Asking) -> str:
        distance = _DISTANCES[asking.metric]
        return (
            f"found = table.search({asking.vector}, vector_column_name={into!r}).distance_type({distance!r})\n"
            "found.where(where).limit(10).to_list()"
        )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _width(field: pa.Field) -> int | None:
    return int(field.type.list_size) if pa.types.is_fixed_size_list(field.type) else None


def _matrix(column: pa.FixedSizeListArray) -> F32:
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(flat.reshape(len(column), column.type.list_size), np.float32)


def _as_lists(rows: F32) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).reshape(-1)), rows.shape[1])
