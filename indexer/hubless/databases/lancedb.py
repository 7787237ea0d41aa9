"""LanceDB: a column beside the others, renamed by one commit. The fits stand in a table of their own."""

from collections.abc import Iterator, Sequence
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa

from hubless.databases.addresses import DatabaseAddress, check_options
from hubless.databases.base import PAGE, Asking, Database, Page, RowId, check_there, chosen
from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32

_FITS = "hubless_fits"
_SCHEMA = pa.schema([("relation", pa.string()), ("name", pa.string()), ("fit", pa.large_binary())])


class LanceTable(Database):
    """A table of LanceDB in a folder. The column `id` has the ids, or that of `?id=`."""

    title = "LanceDB"

    def __init__(self, address: DatabaseAddress) -> None:
        check_options(address, "vector", "id")
        if address.place is None:
            raise InputError("address", "lancedb:///FOLDER/TABLE, on this machine", f"a host, {address.host}")
        self.name, self._options, self._place = address.table, address.options, address.place
        self._id = self._vector = ""
        self._database: Any = None
        self._table: Any = None

    def find(self) -> None:
        try:
            self._database = lancedb.connect(str(self._place))
            names = self._names()
        except Exception as error:
            raise InputError("address", "a folder of LanceDB", one_line(error)) from error
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

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        others = [name for name in self._table.schema.names if name not in {*self._ours(), self._id, self._vector}]
        where = f"{self._vector} IS NOT NULL" + ("" if lacking is None else f" AND {lacking} IS NULL")
        query = self._table.search().select([self._id, self._vector, *(others if payload else [])]).where(where)
        for batch in query.limit(self.count()).to_batches(PAGE):
            if len(batch):
                column = batch.column(self._vector)
                flat = column.flatten().to_numpy(zero_copy_only=False)
                vectors = np.ascontiguousarray(flat.reshape(len(batch), -1), np.float32)
                rows = batch.drop_columns([self._id, self._vector]).to_pylist() if payload and others else []
                yield Page(batch.column(self._id).to_pylist(), vectors, rows)

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
        names, new = self._table.schema.names, self._row(f"{into}_new")
        if new is not None and f"{into}_new" not in names:
            self._put(into, new)
        if new is not None:
            self._fits().delete(self._of(f"{into}_new"))
        if left := [name for name in (f"{into}_new", f"{into}_old") if name in names]:
            self._table.drop_columns(left)

    def begin(self, into: str, width: int) -> None:
        written = into in self._written()
        if into in self._table.schema.names and not written:
            raise InputError("into", "a name that no column has yet", repr(into))
        if not written:
            self._put(into, b"")  # first, so that the new column is known as ours
        self._settle(into)
        self._table.add_columns(pa.field(f"{into}_new", pa.list_(pa.float32(), width)))

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        kind = self._table.schema.field(self._id).type
        given = [str(each) for each in ids] if not pa.types.is_integer(kind) else [int(each) for each in ids]
        flat = np.ascontiguousarray(augmented).reshape(-1)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), augmented.shape[1])
        rows = pa.table({self._id: pa.array(given, kind), into if live else f"{into}_new": vectors})
        return int(self._table.merge_insert(self._id).when_matched_update_all().execute(rows).num_updated_rows)

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        self._put(f"{into}_new", fit)
        renamed = [{"path": f"{into}_new", "rename": into}]
        if into in self._table.schema.names:
            renamed.insert(0, {"path": into, "rename": f"{into}_old"})
        self._table.alter_columns(*renamed)
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
            self._table.drop_columns(columns)
        for name in names:
            for each in (name, f"{name}_new"):
                self._fits().delete(self._of(each))
        gone = [f"column {name}" for name in columns]
        if names and not self._fits().count_rows():
            self._database.drop_table(_FITS)
            gone.append(f"table {_FITS}")
        return gone

    def query_lines(self, into: str, asking: Asking) -> str:
        return (
            f"found = table.search({asking.vector}, vector_column_name={into!r}).distance_type('dot')\n"
            "found.where(where).limit(10).to_list()"
        )
