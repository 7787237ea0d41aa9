"""Exports a collection: to a file, or to a folder with a script for another database."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.errors import InputError
from hubless.exporting.engines import ENGINES, Engine
from hubless.exporting.engines.lancedb import LANCEDB
from hubless.exporting.files import check_new, check_output, new_folder, write_parquet, write_rows
from hubless.exporting.kinds import Kind
from hubless.exporting.rows import ID, Rows
from hubless.exporting.script import DATA, SCRIPT, script_of
from hubless.progress import Advance, progress_bars
from hubless.search.collection import Collection

_STEP = "Writing targets"


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes
    ----------
    path : the file or folder
    count : how many targets
    width : numbers of a vector, d + 1
    left_out : targets that have no vector
    notes : what else to know, in sentences, such as names that were changed
    """

    path: Path
    count: int
    width: int
    left_out: int
    notes: tuple[str, ...] = ()


def export(
    collection: Collection, output: str | Path, *, to: str | None = None, progress: bool | None = None
) -> Exported:
    """Write the targets with their offsets in the vectors, for another vector database.

    Each vector is [t, −h], d + 1 numbers. Ask with [q, λ] by inner product: the score is q·t − λh. Targets have
    length 1 under metric cosine, and so must queries.

    Parameters
    ----------
    collection : what `hubless.open` gave, with a correction that folds into offsets
    output : a file that ends in `.parquet`, `.jsonl` or `.lance`, with the columns `id`, `vector` and those of the
        payload; or with `to` a new folder for Parquet and a script that loads it and asks
    to : a database: `qdrant`, `pgvector`, `opensearch`, `elasticsearch`, `milvus`, `weaviate`, `chroma` or `lancedb`
    progress : show a bar; None shows it on a terminal

    Raises
    ------
    InputError
        if the correction does more than offsets can, or the database cannot hold the vectors, ids or payload.
    StorageError
        if the disk or the folder refuses; nothing is left then.
    """
    path = Path(output)
    if to is not None and to not in ENGINES:
        raise InputError("to", f"one of {', '.join(ENGINES)}", to)
    with progress_bars(progress) as steps:
        if to is None:
            rows = Rows(collection, LANCEDB.columns, LANCEDB.keeps) if path.suffix == ".lance" else Rows(collection)
            check_output(path)
            write_rows(rows, path, steps.step(_STEP, rows.count))
            return Exported(path, rows.count, rows.width, rows.left_out, tuple(_renamed(rows)))
        engine = ENGINES[to]
        rows = Rows(collection, engine.columns, engine.keeps, engine.most_id_bytes, engine.most_text_bytes)
        _check_width(rows, engine)
        check_new(path)
        return _for_engine(rows, engine, path, steps.step(_STEP, rows.count))


def _for_engine(rows: Rows, engine: Engine, path: Path, advance: Advance) -> Exported:
    collection = rows.collection
    name = engine.collection.fitted(collection.name)
    notes = list(_renamed(rows))
    if name != collection.name:
        notes.insert(0, f"{collection.name} is named {name}, as {engine.title} allows names.")
    constants: dict[str, Any] = {
        "NAME": name,
        "COUNT": rows.count,
        "WIDTH": rows.width,
        "METRIC": collection.metric,
        "STRENGTH": collection.strength,
        "WHOLE_IDS": pa.types.is_integer(rows.schema.field(ID).type),
        "JSON_COLUMNS": [new for new in rows.columns.values() if _is_json(rows, new)],
    }
    if engine.types is not None:
        types = engine.types
        constants["COLUMNS"] = {new: types[kind] for new, kind in rows.kinds.items() if kind in types}
    with new_folder(path) as folder:
        write_parquet(rows, folder / DATA, advance)
        (folder / SCRIPT).write_text(script_of(engine, constants, [_origin(collection), *notes]), "utf-8")
    return Exported(path, rows.count, rows.width, rows.left_out, tuple(notes))


def _origin(collection: Collection) -> str:
    writes = f", with writes up to {collection.seq}" if collection.seq > collection.manifest.log_seq else ""
    return f"Collection {collection.name}, version {collection.version}{writes}."


def _is_json(rows: Rows, column: str) -> bool:
    """Whether a column is text that holds JSON."""
    return rows.kinds[column] is Kind.JSON and pa.types.is_large_string(rows.schema.field(column).type)


def _renamed(rows: Rows) -> Iterator[str]:
    for old, new in rows.columns.items():
        if new != old and not rows.is_free:
            yield f"Payload column {old!r} is named {new!r}."


def _check_width(rows: Rows, engine: Engine) -> None:
    if rows.width > engine.most_width:
        expected = f"at most {engine.most_width - 1:,} for {engine.title}, which needs one more for the offset"
        raise InputError("dimensions", expected, rows.width - 1)
