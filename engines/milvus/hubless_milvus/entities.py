"""Targets as entities of Milvus: row, vector, id, offset, and the payload columns that Milvus can hold.

A real Milvus refuses a whole batch for one value that it cannot hold, and its test double takes what the real one
refuses. So all values are checked here. A column that does not fit stays out of Milvus: answers take payload from the
catalog, and filters on it are evaluated there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError
from hubless.knn.augment import folded_targets
from hubless.store import bundle
from hubless.vectors.arrays import F32
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload
from hubless.vectors.sources import VectorSource
from hubless_milvus.columns import INT64, LONGEST_TEXT, VARCHAR, Column, kept_columns
from hubless_milvus.names import ID, OFFSET, OURS, ROW, VECTOR

BATCH_BYTES = 2**23
"""Of one upsert. Milvus takes 64 MB; its message brokers split what is larger than a few."""
MOST_ROWS = 10_000
_NUMBER_BYTES = 9


@dataclass(frozen=True, eq=False)
class Entities:
    """The targets of a version that have a vector, as Milvus takes them.

    `id_type`: the type of ids in Milvus. `columns`: those of the payload that Milvus can hold.
    """

    ids: pa.Array
    payload: pa.Table | None
    id_type: str
    columns: dict[str, Column]

    @classmethod
    def read(cls, folder: Path, count: int) -> "Entities":
        """Read the first `count` targets of a version, whose ids and payload lie in a folder.

        Raises `InputError` for an id that Milvus cannot hold.
        """
        ids = IdTable.open(folder / bundle.IDS).array.slice(0, count)
        whole = pa.types.is_integer(ids.type)
        if not whole and count and pc.max(pc.binary_length(ids)).as_py() > LONGEST_TEXT:
            raise InputError("ids", f"at most {LONGEST_TEXT:,} bytes each, as the engine is milvus", "a longer one")
        path = folder / bundle.PAYLOAD
        payload = Payload.open(path).table().slice(0, count) if path.exists() else None
        columns = {} if payload is None else kept_columns(payload.schema, payload.to_batches())
        return cls(ids, payload, INT64 if whole else VARCHAR, columns)

    @property
    def note(self) -> str:
        """Which payload columns Milvus cannot hold, in words; empty for none."""
        left_out = (
            [] if self.payload is None else [name for name in self.payload.schema.names if name not in self.columns]
        )
        return f"not in Milvus, which cannot hold it exactly: payload {', '.join(left_out)}" if left_out else ""

    @property
    def fields(self) -> dict[str, str]:
        """The name of the field of each column."""
        return {name: column.field for name, column in self.columns.items()}

    def batches(self, targets: VectorSource, offsets: F32) -> Iterator[list[dict[str, Any]]]:
        """All entities of targets (n, d) with their offsets (n,), in batches of bounded size."""
        count, dim = targets.shape
        step = max(1, min(MOST_ROWS, BATCH_BYTES // (4 * (dim + 1) + self._row_bytes(count))))
        start = 0
        for block in targets.blocks(step):
            stop = start + len(block)
            vectors = folded_targets(block, offsets[start:stop])[:, : dim + 1]
            values: dict[str, Any] = {
                ROW: range(start, stop),
                VECTOR: vectors,
                ID: self.ids.slice(start, len(block)).to_pylist(),
                OFFSET: offsets[start:stop].tolist(),
            }
            for name, column in self.columns.items():
                if self.payload is not None:
                    values[column.field] = column.values(_one(self.payload.column(name).slice(start, len(block))))
            yield [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
            start = stop

    def _row_bytes(self, count: int) -> int:
        """About how many bytes ids and payload of a target take."""
        held: int = self.ids.nbytes + (0 if self.payload is None else self.payload.nbytes)
        return _NUMBER_BYTES * (len(OURS) + len(self.columns)) + held // max(1, count)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
