"""The targets of a collection as rows of a table: id, vector with the offset in it, payload."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, I64
from hubless.vectors.free_payload import is_free
from hubless.vectors.sources import block_rows

ID, VECTOR, FREE = "id", "vector", "payload"
"""Columns that are always there, and the one of free payload."""


@dataclass(frozen=True)
class TargetRows:
    """Targets as rows, in blocks. Those without a vector are left out.

    The vector is [t, −h], d + 1 numbers: its inner product with [q, λ] is q·t − λh, the corrected score.
    Raises `InputError` if the correction does more than offsets can, or no target has a vector.
    """

    collection: Collection

    def __post_init__(self) -> None:
        if not self.collection.parts.is_folded:
            name = self.collection.manifest.correction.name
            raise InputError("collection", "a correction that folds into offsets, such as auto", f"one with {name}")
        if not self.count:
            raise InputError("collection", "at least one target with a vector", "none")

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
        names, used = {}, {ID, VECTOR}
        for name in given:
            new, number = name, 2
            while new.casefold() in used:
                new, number = f"{name}_{number}", number + 1
            used.add(new.casefold())
            names[name] = new
        return names

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        id_type = pa.int64() if self.collection.manifest.id_type == "int64" else pa.large_string()
        payload = self.collection.parts.payload_schema
        fields = [(ID, id_type), (VECTOR, pa.list_(pa.float32(), self.width))]
        for old, new in self.columns.items():
            fields.append((new, pa.large_string() if self.is_free or payload is None else payload.field(old).type))
        return pa.schema(fields)

    def blocks(self) -> Iterator[pa.RecordBatch]:
        """Give all rows, some thousand at a time."""
        step = block_rows(self.width)
        payload = self.collection.parts.payload_table
        for start in range(0, self.count, step):
            rows = self._rows[start : start + step]
            ids = pa.array(self.collection.ids(rows), self.schema.field(ID).type)
            yield pa.RecordBatch.from_arrays([ids, self._vectors(rows), *_payload(payload, rows)], schema=self.schema)

    def _vectors(self, rows: I64) -> pa.Array:
        augmented: F32 = np.empty((len(rows), self.width), np.float32)
        augmented[:, :-1] = self.collection.vectors(rows)
        np.negative(self.collection.offsets[rows], out=augmented[:, -1])
        return pa.FixedSizeListArray.from_arrays(augmented.reshape(-1), self.width)


def _payload(payload: pa.Table | None, rows: I64) -> list[pa.Array]:
    if payload is None:
        return []
    # a slice copies nothing; the rows of a block follow one another but for targets without vectors
    first, last = int(rows[0]), int(rows[-1])
    block = payload.slice(first, last + 1 - first)
    if len(block) > len(rows):
        block = block.take(pa.array(rows - first))
    return [column.combine_chunks() for column in block.columns]
