"""The choice that held-out clicks make: their prior, and how far to trust it, no prior, or no correction at all.

People click what is shown first. So a click on the first hit tells nothing of what is popular, and speaks for no change
of the ranking; it may speak against one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hubless.corrections import Correction
from hubless.corrections.fits import fit_each, offsets_each
from hubless.corrections.prior import TargetPrior, click_prior
from hubless.corrections.traits import NO_TRAITS, TargetTraits
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.measures.confidence.calibration_pairs import FEWEST_PAIRS
from hubless.measures.repeats import distinct_rows, without_copies
from hubless.store.bundle import ClicksRecord
from hubless.vectors.arrays import F32, F64, I64, Flags
from hubless.vectors.sources import StackedVectors, TakenVectors, VectorSource, sampled_rows

RAW, PLAIN = "raw", "no prior"
SERVED_RAW = "Held-out clicks say that no correction is better: served raw, which is strength 0."
POWERS = (0.3, 0.5, 1.0)
MOST_TARGETS, MOST_QUERIES = 20_000, 2000
"""Of more targets without clicks, or bank queries, so many are drawn."""


@dataclass(frozen=True)
class Clicks:
    """Rows of clicks (p,): which of the asked queries, which target, how often, and whether that was the first hit."""

    queries: I64
    targets: I64
    counts: F64
    first: Flags

    def __getitem__(self, rows: I64 | Flags) -> "Clicks":
        return Clicks(self.queries[rows], self.targets[rows], self.counts[rows], self.first[rows])

    def left(self, queries: I64 | None, targets: I64 | None) -> "Clicks":
        """Return the clicks on what is left: these rows, ascending, of queries and of targets; None for all."""
        found = self
        if queries is not None:
            found = replace(found, queries=np.searchsorted(queries, found.queries))[np.isin(found.queries, queries)]
        if targets is not None:
            found = replace(found, targets=np.searchsorted(targets, found.targets))[np.isin(found.targets, targets)]
        return found

    def prior(self, targets: int, power: float) -> TargetPrior | None:
        """Return the prior of so many targets that the clicks below the first hit make; None if they say nothing."""
        return click_prior(np.bincount(self.targets, self.counts * ~self.first, targets), power)


@dataclass(frozen=True)
class ClickedSides:
    """What candidates are fitted on and asked: as they are compared, `asked` (m, d) being the queries of clicks."""

    asked: VectorSource
    bank: VectorSource
    targets: VectorSource
    target_bank: VectorSource | None
    metric: str


def choose_prior(
    clicks: Clicks, sides: ClickedSides, method: Correction, seed: int
) -> tuple[ClicksRecord, TargetPrior | None]:
    """Choose among no correction, no prior, and the prior of clicks at each power; return also that of all clicks.

    The queries of clicks are split in halves, copies of a query together. Candidates are fitted by the clicks of one
    half, on a bank without the queries of the other, whose clicks say how often each finds first what was clicked; and
    the other way round. The best is chosen if its gain over no correction is above one standard error over the queries.
    """
    count = sides.bank.shape[0]
    places = distinct_rows(StackedVectors([sides.bank, sides.asked], "queries"), sides.metric)[1]
    banked, place = places[:count], places[count:][clicks.queries]
    known = np.union1d(clicks.targets, sampled_rows(sides.targets.shape[0], MOST_TARGETS))
    some = Clicks(clicks.queries, np.searchsorted(known, clicks.targets), clicks.counts, clicks.first)
    shuffled = np.random.default_rng([seed, 3]).permutation(np.unique(place))
    if len(shuffled) < FEWEST_PAIRS:
        raise InputError("clicks", f"those of at least {FEWEST_PAIRS} different queries", f"of {len(shuffled)}")
    found = dict[str, F64]()
    for half in (shuffled[::2], shuffled[1::2]):
        held = np.isin(place, half)
        rows = np.flatnonzero(~np.isin(banked, place[held]))
        rows = rows[sampled_rows(len(rows), MOST_QUERIES)]
        bank = without_copies(TakenVectors(sides.bank, rows, sides.bank.name), metric=sides.metric)
        targets = TakenVectors(sides.targets, known, sides.targets.name)
        _, firsts, asked = np.unique(place[held], return_index=True, return_inverse=True)
        queries = sides.asked.take(some.queries[held][firsts])
        fits = _fits(method, bank, targets, sides.target_bank, some[~held])
        names, offsets = zip(*fits, strict=True)
        for name, (_, best) in zip((RAW, *names), rankings(queries, targets, 1, None, *offsets), strict=True):
            hits = found.setdefault(name, np.full(len(place), np.nan))
            hits[held] = best[asked, 0] == some.targets[held]
    found = {name: hits for name, hits in found.items() if not np.isnan(hits).any()}
    gains = {name: _gain(hits - found[RAW], clicks, place) for name, hits in found.items()}
    chosen = max(gains, key=lambda name: gains[name][0])
    if gains[chosen][0] <= gains[chosen][1]:
        chosen = RAW
    prior = clicks.prior(sides.targets.shape[0], float(chosen)) if chosen not in (RAW, PLAIN) else None
    record = ClicksRecord(
        chosen=chosen,
        clicks=int(clicks.counts.sum()),
        queries=len(shuffled),
        found={name: float(np.average(hits, weights=clicks.counts)) for name, hits in found.items()},
        gain=gains[chosen][0],
        error=gains[chosen][1],
    )
    return record, prior


def _fits(
    method: Correction, bank: VectorSource, targets: VectorSource, target_bank: VectorSource | None, clicks: Clicks
) -> Iterator[tuple[str, F32]]:
    """Yield the name and the offsets (n,) of each candidate."""
    for power in (None, *POWERS):
        prior = None if power is None else clicks.prior(targets.shape[0], power)
        traits = NO_TRAITS if prior is None else TargetTraits(prior.values, usual=prior.usual)
        if prior is not None or power is None:
            fits = fit_each(method, [bank], targets, target_bank, traits)
            yield PLAIN if power is None else str(power), offsets_each(fits, targets, traits)[0]


def _gain(gained: F64, clicks: Clicks, place: I64) -> tuple[float, float]:
    """Return the mean of what is gained (p,) over clicks, and its standard error over queries, which are drawn."""
    counted = np.where(clicks.first, np.minimum(gained, 0), gained) * clicks.counts
    total = clicks.counts.sum()
    mean = counted.sum() / total
    return float(mean), math.sqrt(np.square(np.bincount(place, counted - mean * clicks.counts)).sum()) / total
