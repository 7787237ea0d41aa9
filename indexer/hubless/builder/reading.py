"""Reading each input of vectors once: check, hash and normalise its rows, and keep them ready for all later steps.

Samples, offsets and the index read the rows again. Arrays stay in memory. Rows of anything else go to a temporary file,
which is mapped. With an executor arrays go there too. Only the hash of a file that is not a `.npy` takes a reading of
its own.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from hubless.builder.banks.bank_checks import looked_up
from hubless.builder.banks.live_strength import drawn
from hubless.builder.executors import SHARED
from hubless.builder.inputs import Inputs, files_record
from hubless.corrections.prior import TargetPrior
from hubless.kernels import sharding
from hubless.measures.likeness import Lookup
from hubless.store.bundle import InputRecord
from hubless.vectors.arrays import F32, short_rows, unit_rows
from hubless.vectors.npy import NpyVectors
from hubless.vectors.sources import (
    ArrayVectors,
    HeldVectors,
    SharedVectors,
    StackedVectors,
    UnitVectors,
    VectorSource,
    block_rows,
)

Told = Callable[[F32], None]
"""Called with all rows as they are compared, block by block."""


@dataclass(frozen=True)
class Compared:
    """The vectors of a build as they are compared with each other, and the records of all inputs.

    `bank_among_targets` and `live_among_targets` are the shares of some bank queries and live queries that are targets;
    None where nobody has looked yet.
    """

    targets: VectorSource
    query_bank: VectorSource
    target_bank: VectorSource | None
    live_queries: VectorSource | None
    records: dict[str, InputRecord]
    target_prior: TargetPrior | None = None
    bank_among_targets: float | None = None
    live_among_targets: float | None = None


def read_vectors(inputs: Inputs, metric: str, seed: int, folder: Path | None = None) -> Compared:
    """Read all vectors, each input once. On the way, look up bank queries and live queries among the targets.

    Parameters
    ----------
    seed : for the choice of the bank queries to look up
    folder : on the disk that the temporary files go to; None for the system's place for such

    Raises
    ------
    InputError, NotFinite, ZeroVector
        naming the input and the row.
    OSError
        if the disk refuses.
    """
    read: dict[str, VectorSource] = {}
    records: dict[str, InputRecord] = {}

    def read_input(name: str, *told: Told) -> None:
        if (source := getattr(inputs, name)) is not None:
            # a bank is kept in the state of most corrections, so there is memory for it
            held, files = name == "query_bank", inputs.files.get(name)
            read[name], records[name] = read_source(source, metric, folder, held=held, files=files, told=told)

    for name in ("query_bank", "target_bank", "live_queries"):
        read_input(name)
    lookups = [Lookup(looked_up(read["query_bank"], seed))]
    if "live_queries" in read:
        lookups.append(Lookup(drawn(read["live_queries"])))
    read_input("targets", *(lookup.add for lookup in lookups))
    return Compared(
        read["targets"],
        read["query_bank"],
        read.get("target_bank"),
        read.get("live_queries"),
        {"targets": records.pop("targets"), **records, **inputs.records},
        None if inputs.target_prior is None else inputs.target_prior.prior,
        *(lookup.share for lookup in lookups),
    )


def read_source(
    source: VectorSource,
    metric: str,
    folder: Path | None,
    *,
    held: bool,
    files: Sequence[Path] | None = None,
    told: Sequence[Told] = (),
) -> tuple[VectorSource, InputRecord]:
    """Read one source as `read_vectors` does: its rows as they are compared, and its record.

    Parameters
    ----------
    held : keep the rows in memory
    files : that the source is read from; None for none
    """
    count, dim = source.shape
    hashed = _Hashed(source, files)
    rows = _checked(hashed.blocks(block_rows(dim)), source.name, metric, told)
    read: VectorSource
    if isinstance(source, ArrayVectors) and source.in_memory and not sharding.current():
        for _ in rows:
            pass
        read = UnitVectors(source) if metric == "cosine" else source
    elif held and not sharding.current():
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, source.shape, folder, source.name)
    if files is not None:
        return read, files_record(files, hashed.hashes)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=hashed.hashes[0])


class _Hashed:
    """A source that is hashed while it is read, if it can be.

    Parameters
    ----------
    files : that it is read from, of which `.npy` are hashed; None for none, then the rows are hashed as they were given
    """

    def __init__(self, source: VectorSource, files: Sequence[Path] | None) -> None:
        self._source = source
        parts = source.parts if isinstance(source, StackedVectors) else [source]
        self._arrays = [part for part in parts if isinstance(part, NpyVectors)] if files else []
        whole = len(self._arrays) == len(parts)
        self.hashes: list[str] = []
        self._blocks = self._of_arrays if whole else self._of_rows if files is None else source.blocks

    def blocks(self, rows: int) -> Iterator[F32]:
        """All rows in order, at most `rows` at a time."""
        return self._blocks(rows)

    def _of_arrays(self, rows: int) -> Iterator[F32]:
        for array in self._arrays:
            digest = hashlib.sha256()
            yield from array.blocks(rows, digest.update)
            self.hashes.append(digest.hexdigest())

    def _of_rows(self, rows: int) -> Iterator[F32]:
        digest = hashlib.sha256()
        for block in self._source.blocks(rows):
            digest.update(block.data)
            yield block
        self.hashes.append(digest.hexdigest())


def _checked(blocks: Iterable[F32], name: str, metric: str, told: Sequence[Told]) -> Iterator[F32]:
    """All rows as they are compared, block by block."""
    start = 0
    for block in blocks:
        rows = (unit_rows if metric == "cosine" else short_rows)(block, name, start)
        for each in told:
            each(rows)
        yield rows
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
