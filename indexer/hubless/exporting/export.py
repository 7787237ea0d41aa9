"""Exports a collection: to a file, or to a folder with a script for another database."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.exporting.databases import DATABASES, SCRIPTS
from hubless.exporting.exported_types import ExportedType
from hubless.exporting.target_rows import ID, TargetRows
from hubless.exporting.writers import check_new, check_output, new_folder, write_parquet, write_rows
from hubless.progress import Advance, progress_bars
from hubless.search.collection import Collection
from hubless.store.bundle import BASIS

DATA, SCRIPT, SETTINGS = "targets.parquet", "recipe.py", "settings.json"
_STEP = "Writing targets"


@dataclass(frozen=True)
class Exported:
    """Result of an export: so many targets, vectors of `width` d + 1, targets without a vector left out, and notes."""

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
    to : a database: `qdrant`, `pgvector`, `milvus`, `chroma` or `lancedb`
    progress : show a bar; None shows it on a terminal

    Raises
    ------
    InputError
        if the correction does more than offsets can, or the database cannot hold the vectors, ids or payload.
    StorageError
        if the disk or the folder refuses; nothing is left then.
    """
    path = Path(output)
    if to is not None and to not in DATABASES:
        raise InputError("to", f"one of {', '.join(DATABASES)}", to)
    database = DATABASES["lancedb" if to is None else to]
    with progress_bars(progress) as steps:
        if to is None:
            rows = TargetRows(collection, database) if path.suffix == ".lance" else TargetRows(collection)
            check_output(path)
            write_rows(rows, path, steps.step(_STEP, rows.count))
            return Exported(path, rows.count, rows.width, rows.left_out, tuple(_notes(rows)))
        rows = TargetRows(collection, database)
        check_new(path)
        return _for_database(rows, to, path, steps.step(_STEP, rows.count))


def _for_database(rows: TargetRows, to: str, path: Path, advance: Advance) -> Exported:
    """Write the targets, the script of the database, and what it has to know of this export."""
    collection, database = rows.collection, DATABASES[to]
    name = database.collection.fitted(collection.name)
    notes = list(_notes(rows))
    if name != collection.name:
        notes.insert(0, f"{collection.name} is named {name}, as {database.title} allows names.")
    types = database.types or {}
    settings = {
        "from": _origin(collection),
        "notes": notes,
        "name": name,
        "count": rows.count,
        "width": rows.width,
        "dim": collection.dim,
        "metric": collection.manifest.metric,
        "strength": collection.strength,
        "whole_ids": pa.types.is_integer(rows.schema.field(ID).type),
        "json_columns": [new for new in rows.columns.values() if _is_json(rows, new)],
        "columns": {new: types[kind] for new, kind in rows.types.items() if kind in types},
    }
    with new_folder(path) as folder:
        write_parquet(rows, folder / DATA, advance)
        (folder / SETTINGS).write_text(json.dumps(settings, indent=1, ensure_ascii=False), "utf-8")
        if collection.parts.basis is not None:
            np.save(folder / BASIS, collection.parts.basis.directions)
        shutil.copyfile(SCRIPTS / "recipe_base.py", folder / "recipe_base.py")
        shutil.copyfile(SCRIPTS / f"{to}.py", folder / SCRIPT)
    return Exported(path, rows.count, rows.width, rows.left_out, tuple(notes))


def _origin(collection: Collection) -> str:
    writes = f", with writes up to {collection.seq}" if collection.seq > collection.manifest.log_seq else ""
    return f"Collection {collection.name}, version {collection.version}{writes}."


def _is_json(rows: TargetRows, column: str) -> bool:
    """Return True if a column is text that holds JSON."""
    return rows.types[column] is ExportedType.JSON and pa.types.is_large_string(rows.schema.field(column).type)


def _notes(rows: TargetRows) -> Iterator[str]:
    if (kept := rows.width - 1) < rows.collection.dim:
        yield f"Vectors have {kept} of {rows.collection.dim} dimensions: multiply queries by {BASIS} of the version."
    for old, new in rows.columns.items():
        if new != old and not rows.is_free:
            yield f"Payload column {old!r} is named {new!r}."
