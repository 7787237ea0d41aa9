"""k-occurrence over a stream of queries. The last queries count most."""

import errno
import logging
import os
import shutil
from pathlib import Path

import numpy as np

from hubless.vectors.arrays import F32, F64, I64

log = logging.getLogger("hubless.occurrence")

_ITEM = 4  # bytes of a count
_SPARE = 16 * 2**20  # bytes left to the metrics, which are in the same folder
_HEADER = 4  # float32 that hold two float64: the exponent, and the inflated number of queries
_HIGHEST = 20.0  # of the exponent; float32 tells a single find beside 2^24 others


def mapped(path: Path, size: int) -> F32:
    """Zeros in a new file; in memory if the disk has no room, as writing to a mapped hole on a full disk kills."""
    try:
        if shutil.disk_usage(path.parent).free < _ITEM * size + _SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _ITEM * size)
    except OSError as error:
        path.unlink(missing_ok=True)
        log.warning("live hubness is that of each worker by itself: no room for %s: %s", path, error.strerror)
        return np.zeros(size, np.float32)
    return np.memmap(path, np.float32, "r+", shape=(size,))


class DecayedOccurrence:
    """N_k of n targets, where a find counts 2^(−age / half-life), age in queries.

    Instead of shrinking all n counts with each query, each query is weighed 2^(1 / half-life) more than the one before,
    so that it costs O(k); when the weight gets large, everything is divided by it.

    With a file, other processes can add these counts to theirs, as `together` does. If there is no room for the file,
    the counts stay in this process.

    Parameters
    ----------
    targets : n
    half_life : in queries
    path : of the file, if there is one
    """

    def __init__(self, targets: int, half_life: float, path: Path | None = None) -> None:
        self._half_life = half_life
        size = _HEADER + targets
        memory = np.zeros(size, np.float32) if path is None else mapped(path, size)
        self._memory = memory
        self._header: F64 = memory[:_HEADER].view(np.float64)
        self._counts = memory[_HEADER:]
        self._exponent = 0.0

    def add(self, rows: I64) -> None:
        """Count what some queries found, rows (m, k). Do not call it from two threads at once."""
        step = max(1, int(self._half_life))
        for start in range(0, len(rows), step):
            self._add(rows[start : start + step])

    def together(self, others: "list[Path] | None" = None) -> tuple[F64, float]:
        """Decayed counts (n,) and the decayed number of queries, those in the files of other processes added.

        It may run while `add` does. A query may then be counted for only some of the targets that it found.
        """
        counts, queries = _deflated(self._memory)
        for path in others or ():
            try:
                memory = np.memmap(path, np.float32, "r")
            except (OSError, ValueError):  # it is gone, or not complete yet
                continue
            if len(memory) == len(self._memory):
                more, further = _deflated(memory)
                counts += more
                queries += further
        return counts, queries

    def _add(self, rows: I64) -> None:
        m, k = rows.shape
        if m == 1:  # by far the most frequent case, and a query finds no target twice
            weight = 2.0 ** (self._exponent + 1 / self._half_life)
            self._counts[rows[0]] += np.float32(weight)
            self._header[1] += weight
        else:
            weights = np.exp2(self._exponent + np.arange(1, m + 1) / self._half_life)
            np.add.at(self._counts, rows.ravel(), np.repeat(weights.astype(np.float32), k))
            self._header[1] += weights.sum()
        self._exponent += m / self._half_life
        if self._exponent > _HIGHEST:
            self._memory[_HEADER:] *= np.float32(2**-self._exponent)
            self._header[1] *= 2**-self._exponent
            self._exponent = 0.0
        self._header[0] = self._exponent


def window(half_life: float) -> float:
    """How many queries the decayed ones add up to in the long run, Σ 2^(−age / half-life)."""
    return float(half_life / np.log(2))


def _deflated(memory: F32) -> tuple[F64, float]:
    header = memory[:_HEADER].view(np.float64)
    while True:
        before = header[0]
        counts, queries = memory[_HEADER:].astype(np.float64), header[1]
        if header[0] >= before:  # otherwise it was divided meanwhile
            deflation = 2.0**-before
            return counts * deflation, float(queries * deflation)
