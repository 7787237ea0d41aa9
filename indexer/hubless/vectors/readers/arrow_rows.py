"""Rows of Parquet and of Arrow's own files, which are streamed from the disk."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, one_line
from hubless.vectors.readers.tabular import TableFile

Dataset: TypeAlias = Any
"""A `pyarrow.dataset.Dataset`: rows that are read batch by batch, from files or a table."""

_FILE = b"ARROW1"


def open_dataset(source: Any, **options: Any) -> Dataset:
    """Open a dataset. The package is imported here: it imports pandas where it is installed, which takes a second."""
    from pyarrow.dataset import dataset

    return dataset(source, **options)


@contextmanager
def reading_payload() -> Iterator[None]:
    """Turn what the readers of payload raise into an `InputError`. Errors of the disk stay."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's: without a number, Arrow's own
            raise
        raise InputError("payload", "readable rows of one shape", one_line(error)) from error


def open_parquet(path: Path, name: str) -> TableFile:
    """Return the rows of a Parquet file."""

    def batches(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(rows, columns=list(columns)):
                yield batch.select(list(columns))

    count = pq.read_metadata(path).num_rows
    return TableFile(
        name, pq.read_schema(path), count, batches, lambda columns: open_dataset(str(path), format="parquet")
    )


def open_arrow(path: Path, name: str) -> TableFile:
    """Return the rows of an Arrow file or stream, such as Feather, or a shard of a data set of Hugging Face.

    They are mapped into memory, and read as they are needed.
    """

    def batches(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for batch in _stored(path):
            yield batch.select(list(columns))

    def payload(columns: Sequence[str]) -> Any:
        in_file, reader = _reader(path)
        return open_dataset(str(path), format="ipc") if in_file else open_dataset(reader.read_all())

    return TableFile(name, _reader(path)[1].schema, sum(map(len, _stored(path))), batches, payload)


def _reader(path: Path) -> tuple[bool, Any]:
    """Return whether it is a file, and no stream, and its reader."""
    mapped = pa.memory_map(str(path))
    in_file = mapped.read(len(_FILE)) == _FILE
    mapped.seek(0)
    return in_file, (pa.ipc.open_file if in_file else pa.ipc.open_stream)(mapped)


def _stored(path: Path) -> Iterator[pa.RecordBatch]:
    in_file, reader = _reader(path)
    yield from map(reader.get_batch, range(reader.num_record_batches)) if in_file else reader
