"""Rows that are no vectors are counted, named, and left out if you ask for it.

They have NaN, infinity or nulls, or are such as the metric cannot compare.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hubless.errors import HublessError, InputError, advice
from hubless.vectors.arrays import F32, I64, letting_through
from hubless.vectors.comparing import comparison
from hubless.vectors.object_rows import some_rows
from hubless.vectors.sources import SelectedVectors, StackedVectors, VectorSource, block_rows

_log = logging.getLogger("hubless.vectors")


@dataclass(frozen=True)
class UncheckedVectors:
    """A source that gives bad rows too, with NaN where there is no number."""

    source: VectorSource

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def blocks(self, rows: int) -> Iterator[F32]:
        blocks = self.source.blocks(rows)
        while True:
            with letting_through():  # not around the yield: it would hold for the caller too
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def take(self, rows: I64) -> F32:
        with letting_through():
            return self.source.take(rows)


def bad_rows(source: VectorSource, metric: str) -> I64:
    """Return the numbers of the rows that a metric cannot compare, ascending. The source is read once."""
    found = [np.empty(0, np.int64)]
    start = 0
    for block in UncheckedVectors(source).blocks(block_rows(source.shape[1])):
        squared = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        found.append(start + np.flatnonzero(~(np.isfinite(squared) & comparison(metric).comparable(squared))))
        start += len(block)
    return np.concatenate(found)


def with_count(error: InputError, source: VectorSource, metric: str) -> InputError:
    """Return an error about a row of a source with the number of rows that are like it, and how to leave them out."""
    if ", row " not in error.parameter:
        return error
    with suppress(HublessError):
        rows = bad_rows(source, metric)
        if len(rows):
            left_out = advice(". {} leaves them out", "skip_bad_rows", "true")
            received = f"{error.received}; {_told(source, rows)}{left_out}"
            return type(error)(error.parameter, error.expected, received)
    return error


def good_rows(source: VectorSource, metric: str) -> I64 | None:
    """Return the rows that a metric can compare, and warn of the others; None if all are good.

    Raises `InputError` if none is.
    """
    rows = bad_rows(source, metric)
    if not len(rows):
        return None
    if len(rows) == source.shape[0]:
        raise InputError(source.name, "a row that is a vector", "none")
    _log.warning("%s: left out, %s", source.name, _told(source, rows))
    return np.setdiff1d(np.arange(source.shape[0]), rows)


def rows_left(source: VectorSource, rows: I64) -> VectorSource:
    """Return the good rows of a source."""
    return SelectedVectors(UncheckedVectors(source), rows, source.name)


def _told(source: VectorSource, rows: I64) -> str:
    """Return how many rows are bad, and the first of them; of shards by file."""
    of_all = f"{len(rows):,} of {source.shape[0]:,} rows are no vectors"
    if not isinstance(source, StackedVectors):
        return f"{of_all}: {some_rows(rows)}"
    places = []
    start = 0
    for part in source.parts:
        inside = rows[(rows >= start) & (rows < start + part.shape[0])] - start
        if len(inside):
            places.append(f"{some_rows(inside)} of {part.name}")
        start += part.shape[0]
    return f"{of_all}: {'; '.join(places[:3])}{' and more' if len(places) > 3 else ''}"
