"""Targets as Parquet files that Milvus imports.

The layout is that of pymilvus' BulkWriter, whose package needs the clients of two object stores: a column a field,
vectors and arrays as lists (https://milvus.io/docs/prepare-source-data.md).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource
from hubless_milvus.columns import BOOL, DOUBLE, INT64, VARCHAR
from hubless_milvus.entities import Entities
from hubless_milvus.names import ID, OFFSET, ROW, VECTOR

FILE_BYTES = 2**30
"""Of a file before compression. Milvus takes 16 GB."""
_TYPES = {BOOL: pa.bool_(), INT64: pa.int64(), DOUBLE: pa.float64(), VARCHAR: pa.string()}


def schema_of(entities: Entities) -> pa.Schema:
    """The columns of a file."""
    payload = [
        pa.field(each.field, pa.list_(_TYPES[each.type]) if each.listed else _TYPES[each.type])
        for each in entities.columns.values()
    ]
    ours = {ROW: pa.int64(), VECTOR: pa.list_(pa.float32()), ID: _TYPES[entities.id_type], OFFSET: pa.float32()}
    return pa.schema([*ours.items(), *payload])


def parquet_files(entities: Entities, targets: VectorSource, offsets: F32, folder: Path) -> Iterator[tuple[Path, int]]:
    """Write all entities into a folder. Yields each file that is complete, and its rows; it may be removed then.

    `targets`: (n, d). `offsets`: (n,).
    """
    schema = schema_of(entities)
    tables = (_table(values, schema) for values in entities.blocks(targets, offsets))
    table, number = next(tables, None), 0
    while table is not None:
        path, rows, held = folder / f"{number}.parquet", 0, 0
        with pq.ParquetWriter(path, schema) as writer:
            while table is not None and (not rows or held + table.nbytes <= FILE_BYTES):
                writer.write_table(table)
                rows, held = rows + len(table), held + table.nbytes
                table = next(tables, None)
        yield path, rows
        number += 1


def _table(values: dict[str, Any], schema: pa.Schema) -> pa.Table:
    vectors = np.ascontiguousarray(values[VECTOR])
    ends = np.arange(len(vectors) + 1, dtype=np.int32) * vectors.shape[1]
    arrays = [
        pa.ListArray.from_arrays(ends, vectors.reshape(-1)) if field.name == VECTOR else pa.array(given, field.type)
        for field, given in zip(schema, values.values(), strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
