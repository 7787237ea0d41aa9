"""Vectors of a build, read once: hashed and normalised on the way. What is no array goes to a file that is mapped."""

import hashlib
import logging
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from hubless.builder.executors import SHARED
from hubless.errors import InputError
from hubless.kernels import sharding
from hubless.store.bundle import InputRecord
from hubless.vectors.arrays import F32
from hubless.vectors.bad_rows import with_count
from hubless.vectors.comparing import OF_TARGETS, ComparedSide, comparison
from hubless.vectors.sources import ArrayVectors, HeldVectors, SharedVectors, VectorSource, block_rows
from hubless.vectors.space import Space

_ROWS, _FEWEST = 1000, 1000
"""Rows that are looked at, and the numbers that they need to have."""
_HALF, _MIDDLE = 127.5, 64
_MOST_EVEN = 0.62
"""Share of the middle half of all bytes: 0.5 of packed bits, 0.8 and more of numbers that were scaled to bytes."""
_CENTRED = 32
"""Counts, such as those of SIFT, have a mean far below 128."""

_log = logging.getLogger("hubless.vectors")


def read_source(
    source: VectorSource,
    space: Space,
    side: ComparedSide,
    folder: Path | None,
    *,
    held: bool,
    hashed: bool,
) -> tuple[VectorSource, InputRecord]:
    """Read one source once: return its rows as they are compared, and its record, with the hash of all if `hashed`.

    Temporary files go to the disk of `folder`.
    """
    count, dim = source.shape
    read = space.compared(source, side)
    digest = hashlib.sha256()

    def compared() -> Iterator[F32]:
        for given, rows in checked_blocks(source, space, side):
            if hashed:
                digest.update(given.data)
            yield rows

    rows = compared()
    made = comparison(space.metric)
    few, alone = count <= block_rows(dim), not sharding.current()
    at_hand = isinstance(source, ArrayVectors) and source.in_memory and alone
    if at_hand and not few and not space.check(dim, source.name):
        for _ in rows:
            pass
        if made.takes_zero and not made.lifted:  # they are as they were
            read = source
    elif (held or few) and alone:
        read = HeldVectors(np.concatenate(list(rows)), source.name)
    else:
        read = in_file(rows, read.shape, folder, source.name)
    return read, InputRecord(name=source.name, size=4 * count * dim, sha256=digest.hexdigest())


def checked_blocks(source: VectorSource, space: Space, side: ComparedSide = OF_TARGETS) -> Iterator[tuple[F32, F32]]:
    """Yield the rows of a source as given and as they are compared in a space, block by block.

    An error about a row says how many are like it.
    """
    start = 0
    try:
        for block in source.blocks(block_rows(source.shape[1])):
            if not start and not isinstance(source, HeldVectors):
                _warn_of_codes(block, source.name)
            yield block, space.compared_rows(block, source.name, start, side)
            start += len(block)
    except InputError as error:
        raise with_count(error, source, space.metric) from error


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


def _warn_of_codes(rows: F32, name: str) -> None:
    """Log a warning with what to do if the first of rows (m, d) look like packed bits, or like bytes around 128."""
    if why := _why(rows[:_ROWS]):
        _log.warning("%s: %s", name, why)


def _why(rows: F32) -> str:
    low = -128 * bool(rows.min() < 0)
    centred = rows - low - _HALF
    whole = (rows == np.rint(rows)) & (abs(centred) <= _HALF)
    if rows.size < _FEWEST or not whole.all() or abs(centred.mean()) > _CENTRED:
        return ""
    if (abs(centred) < _MIDDLE).mean() < _MOST_EVEN:
        line = f"numpy.unpackbits((vectors.astype(int) + {-low}).astype('u1'), axis=1) * 2.0 - 1"
        return f"bytes spread evenly, as packed bits are. Unpack them: {line}"
    return "bytes around 128, which is their zero. Subtract it: vectors - 128.0" if low == 0 else ""
