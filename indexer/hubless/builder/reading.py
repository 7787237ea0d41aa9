"""Reading each input of vectors once: check, hash and normalise its rows, and keep them ready for all later steps.

Samples, offsets, exact rankings and the index read the rows again and again. Arrays stay in memory. Rows of anything
else go to a temporary file, which is mapped. With an executor arrays go there too.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from hubless.builder.executors import SHARED
from hubless.builder.inputs import Inputs
from hubless.corrections.prior import TargetPrior
from hubless.kernels import sharding
from hubless.store.bundle import InputRecord
from hubless.vectors.arrays import F32, short_rows, unit_rows
from hubless.vectors.sources import ArrayVectors, HeldVectors, SharedVectors, UnitVectors, VectorSource, block_rows


@dataclass(frozen=True)
class Compared:
    """The vectors of a build as they are compared with each other, and the records of all inputs."""

    targets: VectorSource
    query_bank: VectorSource
    target_bank: VectorSource | None
    live_queries: VectorSource | None
    records: dict[str, InputRecord]
    target_prior: TargetPrior | None = None


def read_vectors(inputs: Inputs, metric: str, folder: Path | None = None) -> Compared:
    """Read all vectors, each input once.

    Parameters
    ----------
    folder : on the disk that the temporary files go to; None for the system's place for such

    Raises
    ------
    InputError, NotFinite, ZeroVector
        naming the input and the row.
    OSError
        if the disk refuses.
    """
    given = {name: getattr(inputs, name) for name in ("targets", "query_bank", "target_bank", "live_queries")}
    read, records = {}, dict(inputs.records)
    for name, source in given.items():
        if source is None:
            continue
        # a bank is kept in the state of most corrections, so there is memory for it
        read[name], record = read_source(source, metric, folder, in_memory=name == "query_bank")
        records.setdefault(name, record)
    return Compared(
        read["targets"],
        read["query_bank"],
        read.get("target_bank"),
        read.get("live_queries"),
        records,
        None if inputs.target_prior is None else inputs.target_prior.prior,
    )


def read_source(
    source: VectorSource, metric: str, folder: Path | None, *, in_memory: bool
) -> tuple[VectorSource, InputRecord]:
    """Read one source as `read_vectors` does: its rows as they are compared, and its record."""
    count, dim = source.shape
    digest = hashlib.sha256()
    rows = _checked(source, metric, digest)
    read: VectorSource
    if isinstance(source, ArrayVectors) and source.in_memory and not sharding.current():
        for _ in rows:
            pass
        read = UnitVectors(source) if metric == "cosine" else source
    elif in_memory and not sharding.current():
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, source.shape, folder, source.name)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=digest.hexdigest())


def _checked(source: VectorSource, metric: str, digest: Any) -> Iterator[F32]:
    """All rows as they are compared, block by block; the digest is of the rows as they were given."""
    start = 0
    for block in source.blocks(block_rows(source.shape[1])):
        digest.update(block.data)
        yield (unit_rows if metric == "cosine" else short_rows)(block, source.name, start)
        start += len(block)


def in_file(rows: Iterable[F32], shape: tuple[int, int], folder: Path | None, name: str) -> VectorSource:
    """Blocks of rows (n, d), checked already, as rows in a temporary file.

    The file has no name, so nothing is left of it, however a build ends. With an executor it has one, since other
    processes read it: see `hubless.builder.executors.executing`.
    """
    if sharding.current() and folder is not None:
        with tempfile.NamedTemporaryFile(dir=folder / SHARED, delete=False) as shared:
            _write(rows, shared)
        return SharedVectors(Path(shared.name).resolve(), shape[1], 0, shape[0], name)
    with tempfile.TemporaryFile(dir=folder) as file:
        _write(rows, file)
        return HeldVectors(np.asarray(np.memmap(file, np.float32, "r", shape=shape)), name)


def _write(rows: Iterable[F32], file: IO[bytes]) -> None:
    for block in rows:  # written, not stored by way of a map: a full disk would kill the process
        file.write(block.data)
    file.flush()
