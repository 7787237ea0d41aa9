"""Reading each input of vectors once: check, hash and normalise its rows, and keep them ready for all later steps.

Samples, offsets and the index read the rows again. Arrays stay in memory. Rows of anything else go to a temporary file,
which is mapped. With an executor arrays go there too. Only the hash of a file that is not a `.npy` takes a reading of
its own.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from hubless.builder.banks.bank_checks import looked_up
from hubless.builder.banks.live_strength import drawn
from hubless.builder.executors import SHARED
from hubless.builder.inputs.build_inputs import BuildVectors, OpenInputs, files_record
from hubless.builder.inputs.dimensions import fit_basis
from hubless.builder.recipe import Recipe
from hubless.kernels import sharding
from hubless.measures.likeness import Lookup
from hubless.store.bundle import InputRecord
from hubless.vectors.arrays import F32, short_rows, unit_rows
from hubless.vectors.basis import Basis
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

Seer = Callable[[F32], None]
"""Called with all rows as they are compared, block by block."""


def read_vectors(inputs: OpenInputs, recipe: Recipe, folder: Path | None = None) -> BuildVectors:
    """Read all vectors, each input once. On the way, look up bank queries and live queries among the targets.

    Temporary files go to the disk of `folder`; None for the system's place for such.
    """
    given = inputs.vectors
    basis = fit_basis(recipe, given.targets, given.query_bank, given.target_bank)
    read: dict[str, Any] = {}
    records: dict[str, InputRecord] = {}

    def read_input(name: str, *seers: Seer) -> None:
        # a bank is kept in the state of most corrections, so there is memory for it
        held, files = name == "query_bank", inputs.files.get(name)
        if (source := getattr(given, name)) is not None:
            read[name], records[name] = read_source(
                source, recipe.metric, folder, held=held, files=files, seers=seers, basis=basis
            )

    for name in ("query_bank", "target_bank", "live_queries"):
        read_input(name)
    bank = Lookup(looked_up(read["query_bank"], recipe.seed))
    live = Lookup(drawn(read["live_queries"])) if "live_queries" in read else None
    read_input("targets", bank.add, *([] if live is None else [live.add]))
    if not given.bank_given:
        records.pop("query_bank")
    return replace(
        given,
        **read,
        basis=basis,
        records={"targets": records.pop("targets"), **records, **given.records},
        bank_among_targets=bank.share,
        live_among_targets=None if live is None else live.share,
    )


def read_source(
    source: VectorSource,
    metric: str,
    folder: Path | None,
    *,
    held: bool,
    files: Sequence[Path] | None = None,
    seers: Sequence[Seer] = (),
    basis: Basis | None = None,
) -> tuple[VectorSource, InputRecord]:
    """Read one source as `read_vectors` does: its rows as they are compared, and its record."""
    count, dim = source.shape
    if basis is not None and dim == basis.kept:  # reduced already
        basis = None
    hashes: list[str] = []
    rows = _checked(_hashed(source, files, hashes), source.name, metric, seers, basis)
    read: VectorSource
    if basis is None and isinstance(source, ArrayVectors) and source.in_memory and not sharding.current():
        for _ in rows:
            pass
        read = UnitVectors(source) if metric == "cosine" else source
    elif held and not sharding.current():
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, (count, dim if basis is None else basis.kept), folder, source.name)
    if files is not None:
        return read, files_record(files, hashes)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=hashes[0])


def _hashed(source: VectorSource, files: Sequence[Path] | None, hashes: list[str]) -> Iterator[F32]:
    """Give all rows in order, and add the hashes of `.npy` files, or without files that of the rows, to a list."""
    parts = source.parts if isinstance(source, StackedVectors) else [source]
    arrays = [part for part in parts if isinstance(part, NpyVectors)]
    rows = block_rows(source.shape[1])
    if files and len(arrays) == len(parts):
        for array in arrays:
            digest = hashlib.sha256()
            yield from array.blocks(rows, digest.update)
            hashes.append(digest.hexdigest())
    elif files is None:
        digest = hashlib.sha256()
        for block in source.blocks(rows):
            digest.update(block.data)
            yield block
        hashes.append(digest.hexdigest())
    else:
        yield from source.blocks(rows)


def _checked(
    blocks: Iterable[F32], name: str, metric: str, seers: Sequence[Seer], basis: Basis | None
) -> Iterator[F32]:
    """Yield all rows as they are compared, block by block."""
    start = 0
    for block in blocks:
        rows = (unit_rows if metric == "cosine" else short_rows)(block, name, start)
        if basis is not None:
            rows = basis.reduced(rows)
        for each in seers:
            each(rows)
        yield rows
        start += len(block)


def in_file(rows: Iterable[F32], shape: tuple[int, int], folder: Path | None, name: str) -> VectorSource:
    """Return blocks of rows (n, d), checked already, as rows in a temporary file.

    The file has no name, so nothing is left of it, however a build ends. With an executor it has one, since other
    processes read it.
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
