"""TargetRows as files: Parquet, JSON lines and Lance, written block by block, whole or not at all."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, StorageError, how_to_install, one_line, storage_errors
from hubless.exporting.exported_types import json_of
from hubless.exporting.target_rows import FREE, ID, VECTOR, TargetRows
from hubless.progress import Advance
from hubless.store.durable import check_place, replaced, sync

GROUP = 10_000
"""TargetRows of a group of Parquet, so that a reader needs no more in memory."""


def write_parquet(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write a Parquet file. The vector is a fixed-size list of float32."""
    # random numbers have no shorter form, and dictionaries of them cost memory
    texts = [name for name in rows.schema.names if name != VECTOR]
    with pq.ParquetWriter(path, rows.schema, use_dictionary=texts, compression="zstd") as writer:
        for block in _counted(rows, advance):
            writer.write_batch(block, row_group_size=GROUP)


def write_jsonl(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write lines of JSON: `id`, `vector` and the payload columns. Free payload is the object `payload`."""
    import orjson

    free = rows.columns[FREE] if rows.is_free else None
    with path.open("wb") as file:
        for block in _counted(rows, advance):
            vectors = block.column(VECTOR).flatten().to_numpy().reshape(-1, rows.width)
            ids = block.column(ID).to_pylist()
            payload = block.drop_columns([ID, VECTOR]).to_pylist() if rows.columns else [{}] * len(ids)
            for wanted, vector, row in zip(ids, vectors, payload, strict=True):
                if free is not None:
                    row[free] = orjson.Fragment(row[free])
                file.write(json_of({ID: wanted, VECTOR: vector, **row}) + b"\n")


def write_lance(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write a Lance dataset, a folder. Raises `InputError` without the package, or for a type that it does not have."""
    try:
        import lance
    except ImportError as error:
        raise InputError("output", f"the package pylance for .lance ({how_to_install('lance')})", "none") from error
    reader = pa.RecordBatchReader.from_batches(rows.schema, _counted(rows, advance))
    try:
        lance.write_dataset(reader, str(path))
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError("output", "payload that Lance has types for", one_line(error)) from error


WRITERS: dict[str, Callable[[TargetRows, Path, Advance], None]] = {
    ".parquet": write_parquet,
    ".jsonl": write_jsonl,
    ".lance": write_lance,
}


def check_output(path: Path) -> None:
    """Check that an export can be written, before any work. Raises `InputError` and `StorageError`."""
    if path.suffix not in WRITERS:
        raise InputError("output", f"a name that ends in {', '.join(WRITERS)}", path.name)
    if path.suffix == ".lance":
        check_new(path)
    else:
        check_place(path)


def check_new(folder: Path) -> None:
    """Raise `StorageError` if there is something in the place of a new folder, or it cannot be made."""
    if folder.exists():
        raise StorageError(folder, "is there already; an export replaces no folder")
    with new_folder(folder, keep=False):
        pass


def write_rows(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write rows to a file or, for Lance, a folder, in the format of its ending."""
    write = WRITERS[path.suffix]
    with storage_errors(path):
        if path.suffix == ".lance":
            with new_folder(path) as inside:
                write(rows, inside, advance)
        else:
            with replaced(path) as temporary:
                write(rows, temporary, advance)


@contextmanager
def new_folder(path: Path, *, keep: bool = True) -> Iterator[Path]:
    """Give an empty folder. It gets its name when the block ends without an error; else nothing stays."""
    temporary = path.with_name(f".{path.name}.new")
    with storage_errors(path):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            yield temporary
            if keep:
                for file in temporary.rglob("*"):
                    sync(file)
                temporary.rename(path)
                sync(path.parent)
        finally:
            with suppress(OSError):
                shutil.rmtree(temporary)


def _counted(rows: TargetRows, advance: Advance) -> Iterator[pa.RecordBatch]:
    for block in rows.blocks():
        yield block
        advance(block.num_rows)
