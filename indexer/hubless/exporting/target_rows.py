"""The targets of a collection as rows of a table: id, vector with the offset in it, payload."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError
from hubless.exporting.databases import ANY, Database
from hubless.exporting.exported_types import ExportedType, converted, stored_type, type_of
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, I64
from hubless.vectors.free_payload import is_free
from hubless.vectors.sources import block_rows

ID, VECTOR, FREE = "id", "vector", "payload"
"""Columns that are always there, and the one of free payload."""


@dataclass(frozen=True)
class TargetRows:
    """Targets as rows, in blocks. Those without a vector are left out. The limits of `database` hold; None for none.

    The vector is [t, −h], d + 1 numbers: its inner product with [q, λ] is q·t − λh, the corrected score.
    Raises `InputError` if the correction does more than offsets can, no target has a vector, or they are too wide.
    """

    collection: Collection
    database: Database | None = None

    def __post_init__(self) -> None:
        if not self.collection.parts.is_folded:
            name = self.collection.manifest.correction.name
            raise InputError("collection", "a correction that folds into offsets, such as auto", f"one with {name}")
        if not self.count:
            raise InputError("collection", "at least one target with a vector", "none")
        if self.database is not None and self.width > self.database.most_width:
            title, most = self.database.title, self.database.most_width - 1
            expected = f"at most {most:,} for {title}, which needs one more for the offset"
            raise InputError("dimensions", expected, self.width - 1)

    @property
    def width(self) -> int:
        """Numbers of a vector, d + 1."""
        return self.collection.stored_dim + 1

    @cached_property
    def _rows(self) -> I64:
        return np.flatnonzero(self.collection.parts.targets.have_vectors(np.arange(self.collection.count)))

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @property
    def left_out(self) -> int:
        """The number of targets without a vector."""
        return self.collection.count - self.count

    @property
    def is_free(self) -> bool:
        """True if the payload is JSON objects with any keys: then they stand in one column."""
        return is_free(self.collection.parts.payload_schema)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The name here of each payload column."""
        schema = self.collection.parts.payload_schema
        given = [] if schema is None else [FREE] if self.is_free else schema.names
        names = ANY if self.database is None else self.database.columns
        return names.mapped(given, taken=(ID, VECTOR))

    @cached_property
    def types(self) -> dict[str, ExportedType]:
        """The type of each payload column, by its name here."""
        schema = self.collection.parts.payload_schema
        if schema is None:
            return {}
        if self.is_free:
            return dict.fromkeys(self.columns.values(), ExportedType.JSON)
        return {new: type_of(schema.field(old).type) for old, new in self.columns.items()}

    @cached_property
    def schema(self) -> pa.Schema:
        """ColumnNames and types of all columns."""
        id_type = pa.int64() if self.collection.manifest.id_type == "int64" else pa.large_string()
        payload = self.collection.parts.payload_schema
        fields = [(ID, id_type), (VECTOR, pa.list_(pa.float32(), self.width))]
        for old, new in self.columns.items():
            stored = pa.large_string() if self.is_free or payload is None else payload.field(old).type
            kept = self.database is None or (self.database.keeps_types and not _has_map(stored))
            fields.append((new, stored if kept else stored_type(type_of(stored))))
        return pa.schema(fields)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """Give all rows, some thousand at a time.

        Raises `InputError` naming a payload column whose values do not fit, or an id or a column that is too long.
        """
        step = block_rows(self.width)
        payload = self.collection.parts.payload_table
        for start in range(0, self.count, step):
            rows = self._rows[start : start + step]
            ids = pa.array(self.collection.ids(rows), self.schema.field(ID).type)
            columns = [ids, self._vectors(rows), *self._payload(payload, rows)]
            block = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            self._check_texts(block)
            yield block

    def _vectors(self, rows: I64) -> pa.Array:
        augmented: F32 = np.empty((len(rows), self.width), np.float32)
        augmented[:, :-1] = self.collection.vectors(rows)
        np.negative(self.collection.offsets[rows], out=augmented[:, -1])
        return pa.FixedSizeListArray.from_arrays(augmented.reshape(-1), self.width)

    def _payload(self, payload: pa.Table | None, rows: I64) -> Iterator[pa.Array]:
        if payload is None:
            return
        # a slice copies nothing; the rows of a block follow one another but for targets without vectors
        first, last = int(rows[0]), int(rows[-1])
        block = payload.slice(first, last + 1 - first)
        if len(block) > len(rows):
            block = block.take(pa.array(rows - first))
        for column, field in zip(block.columns, list(self.schema)[2:], strict=True):
            values = column.combine_chunks()
            yield values if values.type == field.type else converted(values, field.name)

    def _check_texts(self, block: pa.RecordBatch) -> None:
        if self.database is None:
            return
        for name, column in zip(block.schema.names, block.columns, strict=True):
            most = self.database.most_id_bytes if name == ID else self.database.most_text_bytes
            if most is not None and pa.types.is_large_string(column.type):
                longest = pc.max(pc.binary_length(column)).as_py()
                if longest is not None and longest > most:
                    what = "id" if name == ID else f"payload, column {name}"
                    raise InputError(what, f"at most {most:,} bytes, as the database allows", f"one of {longest:,}")


def _has_map(stored: pa.DataType) -> bool:
    """Return True if a type is a map, or has one inside."""
    inside = [stored.field(number).type for number in range(stored.num_fields)]
    return bool(pa.types.is_map(stored)) or any(map(_has_map, inside))
