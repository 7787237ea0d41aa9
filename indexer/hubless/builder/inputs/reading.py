"""Reading each input of vectors once: check, hash and normalise its rows, and keep them ready for all later steps.

Samples, offsets and the index read the rows again. Arrays stay in memory. Rows of anything else go to a temporary file,
which is mapped. With an executor arrays go there too. The hash of a file takes a reading of its own.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from hubless.builder.executors import SHARED
from hubless.builder.inputs.build_inputs import BuildVectors, OpenInputs, files_record
from hubless.builder.recipe import Recipe
from hubless.corrections import Correction
from hubless.kernels import sharding
from hubless.store.bundle import InputRecord
from hubless.vectors.arrays import F32, I64, short_rows, unit_rows
from hubless.vectors.basis import AUTO, Basis, as_compared, check_dims, fit_directions
from hubless.vectors.sources import (
    ArrayVectors,
    HeldVectors,
    SharedVectors,
    VectorSource,
    block_rows,
    in_memory,
    sample,
    under_metric,
)

SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)
"""Shares of the dimensions that are tried, ascending."""
CHANGED = 1 / 4
"""The basis may change this part of the number of first hits that the correction changes."""
MOST_TARGETS, MOST_BANK, MOST_ASKED, HELD_OUT = 4096, 2048, 400, 0.2
"""Rows that the number of dimensions is chosen with; the last is the share of bank queries that are asked."""


def fit_basis(
    recipe: Recipe, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Basis | None:
    """Return the basis that a recipe asks for; None if all dimensions are kept, at least beside the index."""
    if recipe.dims is None:
        return None
    check_dims(recipe.dims, targets.shape[1])
    return None if recipe.keep_full else _fitted_basis(recipe, recipe.dims, targets, query_bank, target_bank)


def fit_index_basis(recipe: Recipe, targets: VectorSource, query_bank: VectorSource) -> Basis | None:
    """Return the basis of an index beside whole vectors; None for all dimensions. Products with it are not scaled."""
    if recipe.dims is None or not recipe.keep_full:
        return None
    found = _fitted_basis(recipe, recipe.dims, targets, query_bank, None)
    return None if found is None else Basis(found.directions, "dot")


def _fitted_basis(
    recipe: Recipe, asked: int | str, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Basis | None:
    directions = fit_directions(query_bank, targets if target_bank is None else target_bank, recipe.metric)
    dims = _fewest(recipe, directions, targets, query_bank) if asked == AUTO else int(asked)
    return None if dims == len(directions) else Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric)


def _fewest(recipe: Recipe, directions: F32, targets: VectorSource, query_bank: VectorSource) -> int:
    """Return the fewest dimensions of which the corrected ranking is nearer to that of all than the raw one is.

    A ranking is as near as the first hits that it has in common, of held-out bank queries. Without labels this is the
    best that can be known: the correction is trusted, and the basis may not undo what it does.
    """
    some, bank = sample(targets, MOST_TARGETS), sample(query_bank, MOST_BANK)
    order = np.random.default_rng([recipe.seed, 2]).permutation(bank.shape[0])
    count = min(MOST_ASKED, max(1, int(HELD_OUT * len(order))))
    asked, fitted = bank.take(order[:count]), bank.take(order[count:])
    if len(fitted) < 2:
        return len(directions)

    def firsts(basis: Basis | None) -> Iterator[I64]:
        sides = (ArrayVectors(asked, "queries"), ArrayVectors(fitted, "query bank"), some)
        queries, known, found = (in_memory(as_compared(side, recipe.metric, basis)) for side in sides)
        scores = queries @ found.T
        yield scores.argmax(axis=1)
        yield (scores - _offsets(recipe.method, known, found)).argmax(axis=1)

    raw, corrected = firsts(None)
    allowed = CHANGED * float(np.mean(raw != corrected))
    for share in SHARES:
        dims = max(1, round(share * len(directions)))
        _, reduced = firsts(Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric))
        if float(np.mean(reduced != corrected)) <= allowed:
            return dims
    return len(directions)


def _offsets(method: Correction, bank: F32, targets: F32) -> F32:
    return method.fit(bank, targets).offsets(targets)


def read_vectors(inputs: OpenInputs, recipe: Recipe, folder: Path | None = None) -> BuildVectors:
    """Read all vectors, each input once. Temporary files go to the disk of `folder`."""
    given = inputs.vectors
    basis = fit_basis(recipe, given.targets, given.query_bank, given.target_bank)
    read: dict[str, Any] = {}
    records: dict[str, InputRecord] = {}
    for name in ("targets", "query_bank", "target_bank", "live_queries"):
        if (source := getattr(given, name)) is not None:
            # a bank is kept in the state of most corrections, so there is memory for it
            held, files = name == "query_bank", inputs.files.get(name)
            read[name], records[name] = read_source(source, recipe.metric, folder, held=held, files=files, basis=basis)
    if not given.bank_given:
        records.pop("query_bank")
    return replace(given, **read, basis=basis, records={**records, **given.records})


def read_source(
    source: VectorSource,
    metric: str,
    folder: Path | None,
    *,
    held: bool,
    files: Sequence[Path] | None = None,
    basis: Basis | None = None,
) -> tuple[VectorSource, InputRecord]:
    """Read one source as `read_vectors` does: its rows as they are compared, and its record."""
    count, dim = source.shape
    if basis is not None and dim == basis.kept:  # reduced already
        basis = None
    digest = hashlib.sha256()
    rows = _checked(source, metric, basis, digest.update if files is None else None)
    read: VectorSource
    if basis is None and isinstance(source, ArrayVectors) and source.in_memory and not sharding.current():
        for _ in rows:
            pass
        read = under_metric(source, metric) if metric == "cosine" else source
    elif held and not sharding.current():
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, (count, dim if basis is None else basis.kept), folder, source.name)
    if files is not None:
        return read, files_record(files)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=digest.hexdigest())


def _checked(
    source: VectorSource, metric: str, basis: Basis | None, told: Callable[[memoryview], object] | None
) -> Iterator[F32]:
    """Yield all rows as they are compared, block by block. `told` is called with the bytes of those given."""
    start = 0
    for block in source.blocks(block_rows(source.shape[1])):
        if told is not None:
            told(block.data)
        rows = (unit_rows if metric == "cosine" else short_rows)(block, source.name, start)
        yield rows if basis is None else basis.reduced(rows)
        start += len(block)


def in_file(rows: Iterable[F32], shape: tuple[int, int], folder: Path | None, name: str) -> VectorSource:
    """Return checked blocks of rows (n, d) in a temporary file, which has a name only if an executor has to open it."""
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
