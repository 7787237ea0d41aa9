"""The rows of a database as a Parquet file, which everything else reads: ids, vectors and payload."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import DimensionMismatch, EngineError, HublessError, InputError, NotFinite, ZeroVector, one_line
from hubless_databases.addresses import open_database
from hubless_databases.base import Database, Page, RowId

ID, VECTOR = "id", "vector"
_SHOWN = 5
_PLAIN = (bool, int, float, str, date, datetime, type(None))


def copied_rows(address: str, folder: Path) -> Path:
    """Return a file with the rows of the database at an address, and their payload, made anew in a folder, whole."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(dir=folder) as beside,
        closing(open_database(address)) as database,
        database_errors(database),
    ):
        path = Path(beside) / "rows.parquet"
        if not spool(database, path, payload=True):
            raise InputError("address", "rows with a vector", "none")
        return path.replace(folder / path.name)


def spool(
    database: Database, path: Path, *, lacking: str | None = None, payload: bool = False, metric: str = "dot"
) -> int:
    """Write the rows to a Parquet file, in pages, and return their number; 0 writes none. Mixed types become text.

    Raises `InputError` naming the ids of vectors that cannot be compared under the metric.
    """
    folder = path.with_suffix(".pages")
    folder.mkdir()
    files: list[Path] = []
    odd: list[RowId] = []
    zero: list[RowId] = []
    width = None
    for page in database.pages(lacking=lacking, payload=payload):
        width = width or page.vectors.shape[1]
        if page.vectors.shape[1] != width:
            row = f"{page.vectors.shape[1]} in the row of id {page.ids[0]}"
            raise DimensionMismatch("vector", f"{width} numbers, as the first rows have", row)
        odd += [page.ids[row] for row in np.flatnonzero(~np.isfinite(page.vectors).all(axis=1))]
        zero += [page.ids[row] for row in np.flatnonzero(~page.vectors.any(axis=1))]
        files.append(folder / f"{len(files):06}.parquet")
        pq.write_table(_table(page), files[-1])
    if odd:
        raise NotFinite("vector", "finite numbers", _named("NaN or infinity", odd))
    if zero and metric == "cosine":
        expected = "a vector of non-zero length, as the metric is cosine"
        raise ZeroVector("vector", expected, _named("zeros only", zero))
    if not files:
        return 0
    schemas = [pq.read_schema(file) for file in files]
    schema = _unified(schemas)
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for file in files:
            table = pq.read_table(file)
            columns = [_column(table, field) for field in schema]
            writer.write_table(pa.table(columns, schema=schema))
            count += len(table)
            file.unlink()
    return count


def _named(what: str, ids: list[RowId]) -> str:
    more = f" and {len(ids) - _SHOWN:,} others" if len(ids) > _SHOWN else ""
    return (
        f"{what} in {'a row' if len(ids) == 1 else f'{len(ids):,} rows'}, id {', '.join(map(str, ids[:_SHOWN]))}{more}"
    )


@contextmanager
def database_errors(database: Database) -> Iterator[None]:
    """Turn an error of a database's client into an `EngineError`."""
    try:
        yield
    except (HublessError, OSError):
        raise
    except Exception as error:
        raise EngineError(f"{database.title}: {one_line(error)}") from error


def _table(page: Page) -> pa.Table:
    whole = all(isinstance(each, int) and -(2**63) <= each < 2**63 for each in page.ids)
    ids = pa.array(page.ids, pa.int64()) if whole else pa.array(map(str, page.ids), pa.string())
    flat = pa.array(np.ascontiguousarray(page.vectors).reshape(-1))
    table = pa.table({ID: ids, VECTOR: pa.FixedSizeListArray.from_arrays(flat, page.vectors.shape[1])})
    names = dict.fromkeys(name for row in page.payload for name in row)
    for name in names:
        values = [row.get(name) for row in page.payload]
        free = name
        while free in table.column_names:
            free += "_2"
        table = table.append_column(free, _values(values))
    return table


def _values(values: list[Any]) -> pa.Array:
    if all(isinstance(each, _PLAIN) for each in values):
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError):
            pass
    return pa.array([each if isinstance(each, str | None) else _text(each) for each in values], pa.string())


def _text(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _unified(schemas: list[pa.Schema]) -> pa.Schema:
    """Return the columns of all pages. Types that do not go together become text."""
    found: dict[str, set[pa.DataType]] = {}
    for field in (field for schema in schemas for field in schema):
        found.setdefault(field.name, set()).add(field.type)
    return pa.schema([(name, _common(types - {pa.null()})) for name, types in found.items()])


def _common(types: set[pa.DataType]) -> pa.DataType:
    if types == {pa.int64(), pa.float64()}:
        return pa.float64()
    return pa.string() if len(types) > 1 else next(iter(types), pa.null())


def _column(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        return pa.nulls(len(table), field.type)
    column = table[field.name]
    if column.type == field.type or not pa.types.is_string(field.type):
        return column.cast(field.type)
    return pa.array([None if each is None else _text(each) for each in column.to_pylist()], pa.string())
