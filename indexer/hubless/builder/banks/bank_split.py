"""The query bank in parts: mixed of several sources, held-out queries to measure with, and a sample to store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.sources import SelectedVectors, VectorSource

HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 1000
BANK_SAMPLE = 512
ROUNDING = 1e-6


@dataclass(frozen=True)
class MeasuringQueries:
    """Queries (m, d) to measure with.

    `held_out` says if the correction that is measured was fitted without them, and `fitted_queries` on how many bank
    queries; None if nobody knows.
    """

    queries: F32
    held_out: bool
    fitted_queries: int | None = None


def mix(parts: Sequence[tuple[VectorSource, float]], size: int | None = None, seed: int = 0) -> F32:
    """Return a query bank (b, d) of several, drawn at random from each by its share of the bank.

    There are at most `size` queries, and as many as the shares allow: the smallest of rows / share.
    """
    shares = [share for _, share in parts]
    if not (min(shares, default=0) > 0 and abs(sum(shares) - 1) <= ROUNDING):  # NaN is refused, too
        raise InputError("share", "shares above 0 that add up to 1", ", ".join(f"{share:g}" for share in shares))
    rng = np.random.default_rng(seed)
    most = min(source.shape[0] / share for source, share in parts)
    count = most if size is None else min(size, most)
    drawn = []
    for source, share in parts:
        check_dim(source.shape[1], parts[0][0].shape[1], source.name, parts[0][0].name)
        rows = round(count * share)
        if rows == 0:
            raise InputError("size", f"enough for a query of {source.name} at share {share:g}", f"{count:.0f}")
        drawn.append(source.take(np.sort(rng.choice(source.shape[0], min(rows, source.shape[0]), replace=False))))
    return np.concatenate(drawn)


def hold_out(bank: VectorSource, seed: int) -> tuple[VectorSource, MeasuringQueries]:
    """Split a bank into queries to fit on for a measurement, and held-out queries. A bank of fewer than 10 is both."""
    count = bank.shape[0]
    held = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * count))
    if held == 0:
        return bank, MeasuringQueries(bank.take(np.arange(count)), held_out=False, fitted_queries=count)
    chosen = np.random.default_rng(seed).choice(count, held, replace=False)
    kept = np.setdiff1d(np.arange(count), chosen)
    return SelectedVectors(bank, kept, bank.name), MeasuringQueries(bank.take(np.sort(chosen)), True, len(kept))


@contextmanager
def naming_held_out(bank: VectorSource, fitting: VectorSource) -> Iterator[None]:
    """If the query bank is too small, say in the error how many of its rows were held out."""
    try:
        yield
    except InputError as error:
        held = bank.shape[0] - fitting.shape[0]
        if not held or error.parameter != bank.name or error.received != str(fitting.shape[0]):
            raise
        received = f"{error.received}, as {held} of {bank.shape[0]} are held out to measure with"
        raise InputError(error.parameter, error.expected, received) from error


def bank_sample(bank: VectorSource, seed: int) -> F32:
    """Return at most 512 queries of the bank, drawn at random."""
    count = bank.shape[0]
    chosen = np.random.default_rng([seed, 1]).choice(count, min(BANK_SAMPLE, count), replace=False)
    return bank.take(np.sort(chosen))
