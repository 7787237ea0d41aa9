"""Tables in several files as one: in types that hold the values of all, with columns that names of folders have.

Spark, Arrow and polars write `items/year=2019/part-0.parquet`, which says the year of all rows of the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from hubless.errors import InputError, names_of, one_line
from hubless.vectors.listing import ending_of, files_in, folders_in
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset

_NONE = "__HIVE_DEFAULT_PARTITION__"


class Shard(NamedTuple):
    """The payload of a file, a dataset or none, its columns, and the number of its rows."""

    payload: Any
    columns: Sequence[str]
    rows: int


def shard_files(folder: Path, endings: Sequence[str], name: str) -> list[Path]:
    """Return the files of one kind in a folder, in natural order, and those in its folders such as `year=2019`.

    Raises `InputError` if there are none, or of several kinds.
    """
    files = files_below(folder, endings)
    if not files:
        raise InputError(name, f"a folder of {', '.join(endings)} files", "a folder without any")
    if len(kinds := sorted({ending_of(file) for file in files})) > 1:
        raise InputError(name, "shards of one kind", " and ".join(kinds))
    return files


def files_below(folder: Path, endings: Sequence[str]) -> list[Path]:
    """Return the files in a folder that are read, and in its folders such as `year=2019`, but in no others."""
    below = [file for each in folders_in(folder, "=") for file in files_below(each, endings)]
    return files_in(folder, endings) + below


def stacked_payload(shards: Mapping[Path, Shard], folder: Path, name: str) -> tuple[Dataset | None, list[str]]:
    """Return the payload of all files, one after the other, and its columns; no payload if there are none.

    Raises `InputError` naming the file, and the column, that do not fit those before.
    """
    columns = list(next(iter(shards.values())).columns)
    for file, shard in shards.items():
        if sorted(shard.columns) != sorted(columns):
            expected = f"the payload columns {names_of(columns)}"
            raise InputError(f"{name}, {file.name}", expected, names_of(shard.columns))
    said = _said_by_folders([file.relative_to(folder) for file in shards])
    said = {each: values for each, values in said.items() if each not in columns}
    if not (columns or said):
        return None, []
    schema = pa.schema([])
    for file, shard in shards.items():
        try:
            schema = pa.unify_schemas([schema, _plain(shard, columns)], promote_options="permissive")
        except pa.ArrowException as error:
            expected = "columns of the types of the files before"
            raise InputError(f"{name}, {file.name}", expected, one_line(error)) from error
    schema = pa.schema([*schema, *(pa.field(each, values.type) for each, values in said.items())])
    parts = []
    for row, (file, shard) in enumerate(shards.items()):
        here = {each: values[row] for each, values in said.items()}
        parts.append(_part(shard, schema, here, f"{name}, {file.name}"))
    return open_dataset(parts), schema.names


def _plain(shard: Shard, columns: Sequence[str]) -> pa.Schema:
    """Return the schema of some columns, of which a dictionary is what it stands for."""
    kinds = {each: shard.payload.schema.field(each).type for each in columns}
    return pa.schema(
        [(each, kind.value_type if pa.types.is_dictionary(kind) else kind) for each, kind in kinds.items()]
    )


def _part(shard: Shard, schema: pa.Schema, said: Mapping[str, pa.Scalar], name: str) -> Dataset:
    """Return the rows of a file in a schema: read as they are needed, or held if they have other types."""
    if not said and all(shard.payload.schema.field(each.name).type == each.type for each in schema):
        return shard.payload.replace_schema(schema)
    table: Any = None if shard.payload is None else shard.payload.to_table(columns=list(shard.columns))
    columns = []
    for each in schema:
        value = said.get(each.name)
        try:
            columns.append(table[each.name].cast(each.type) if value is None else pa.repeat(value, shard.rows))
        except pa.ArrowException as error:
            raise InputError(f"{name}, column {each.name}", f"values of {each.type}", one_line(error)) from error
    return open_dataset(pa.table(columns, schema))


def _said_by_folders(paths: Sequence[Path]) -> dict[str, pa.Array]:
    """Return columns with a value a file, by the folders `column=value` it is in; numbers if all values are."""
    found = [dict(part.split("=", 1) for part in path.parent.parts if "=" in part) for path in paths]
    columns = {}
    for key in dict.fromkeys(key for each in found for key in each):
        texts = [each.get(key, _NONE) for each in found]
        values = pa.array([None if each == _NONE else unquote(each) for each in texts], pa.string())
        try:
            columns[key] = values.cast(pa.int64())
        except pa.ArrowException:
            columns[key] = values
    return columns
