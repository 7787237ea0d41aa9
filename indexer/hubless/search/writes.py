"""Writes to a collection, as they stand in its log: an Arrow stream each, which any version of Arrow reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from hubless.vectors.arrays import F32, I64, Flags
from hubless.vectors.plain_arrow import plain_stream

_ID, _VECTOR, _PAYLOAD = "id", "vector", "payload"


@dataclass(frozen=True, eq=False)
class Put:
    """Targets that come or replace others: vectors (a, d) as they are compared, 0 where `has_vector` is false."""

    kind: ClassVar[str] = "put"
    vectors: F32
    ids: pa.Array
    payload: pa.Table | None
    has_vector: Flags | None = None

    @property
    def there(self) -> Flags:
        """A mask (a,) of the targets that have a vector."""
        return np.ones(len(self.ids), np.bool_) if self.has_vector is None else self.has_vector

    def encode(self) -> bytes:
        flat = pa.array(np.ascontiguousarray(self.vectors).reshape(-1))
        mask = None if self.has_vector is None or self.has_vector.all() else pa.array(~self.has_vector)
        columns = [self.ids, pa.FixedSizeListArray.from_arrays(flat, self.vectors.shape[1], mask=mask)]
        names = [_ID, _VECTOR]
        if self.payload is not None:
            columns.append(self.payload.combine_chunks().to_struct_array().combine_chunks())
            names.append(_PAYLOAD)
        return _written(pa.table(columns, names))

    def taken(self, rows: I64) -> "Put":
        """Some of its targets."""
        payload = None if self.payload is None else self.payload.take(rows)
        return Put(self.vectors[rows], self.ids.take(pa.array(rows)), payload, self.there[rows])

    @classmethod
    def joined(cls, puts: Sequence["Put"]) -> "Put":
        """Several as one."""
        if len(puts) == 1:
            return puts[0]
        tables = [put.payload for put in puts if put.payload is not None]
        return cls(
            np.concatenate([put.vectors for put in puts]),
            pa.concat_arrays([put.ids for put in puts]),
            pa.concat_tables(tables).combine_chunks() if tables else None,
            np.concatenate([put.there for put in puts]),
        )

    @classmethod
    def decode(cls, body: bytes, schema: pa.Schema | None) -> "Put":
        table = plain_stream(body)
        vectors = table[_VECTOR].combine_chunks()
        there = vectors.is_valid().to_numpy(zero_copy_only=False)
        rows = np.zeros((len(table), vectors.type.list_size), np.float32)
        rows[there] = vectors.drop_null().flatten().to_numpy().reshape(-1, vectors.type.list_size)
        payload = None
        if schema is not None:
            written = table[_PAYLOAD].combine_chunks() if _PAYLOAD in table.column_names else None
            payload = _as_schema(written, schema, len(table))
        return cls(rows, table[_ID].combine_chunks(), payload, there)


@dataclass(frozen=True, eq=False)
class Remove:
    """Targets that go, by their ids. An id that no target has any more is passed over."""

    kind: ClassVar[str] = "remove"
    ids: pa.Array

    def encode(self) -> bytes:
        return _written(pa.table([self.ids], [_ID]))

    @classmethod
    def decode(cls, body: bytes, schema: pa.Schema | None) -> "Remove":
        return cls(plain_stream(body)[_ID].combine_chunks())


Write: TypeAlias = Put | Remove
KINDS: dict[str, type[Put] | type[Remove]] = {each.kind: each for each in (Put, Remove)}


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _as_schema(written: pa.StructArray | None, schema: pa.Schema, count: int) -> pa.Table:
    names = set() if written is None else {field.name for field in written.type}
    columns = [
        pa.nulls(count, field.type)
        if written is None or field.name not in names
        else written.field(field.name).cast(field.type)
        for field in schema
    ]
    return pa.table(columns, schema)
