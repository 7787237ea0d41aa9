"""The choice that held-out clicks make: their prior, and how far to trust it, no prior, or no correction at all."""

import logging
import math
from dataclasses import replace

import numpy as np

from hubless.builder.inputs.build_vectors import BuildVectors
from hubless.builder.inputs.clicks import Clicks
from hubless.builder.recipe import Recipe
from hubless.corrections.fits import fit_each
from hubless.corrections.target_columns import NO_COLUMNS, offsets_each
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.measures.labelled_pairs import FEWEST_PAIRS
from hubless.measures.repeats import distinct_rows, without_copies
from hubless.store.bundle import ClicksRecord
from hubless.vectors.arrays import F64, I64
from hubless.vectors.sources import StackedVectors, TakenVectors, sampled_rows

RAW, PLAIN = "raw", "no prior"
SERVED_RAW = "Held-out clicks say that no correction is better: served raw, which is strength 0."
POWERS = {"power 0.3": 0.3, "power 0.5": 0.5, "power 1": 1.0}
MOST_TARGETS, MOST_QUERIES = 20_000, 2000
"""Of more targets without clicks, or bank queries, so many are drawn."""
_log = logging.getLogger("hubless.banks")


def chosen_by_clicks(vectors: BuildVectors, recipe: Recipe) -> tuple[BuildVectors, ClicksRecord | None]:
    """Choose among no correction, no prior, and the prior of clicks at each power; None if there are no clicks.

    The queries of clicks are split in halves, copies of a query together. Candidates are fitted by the clicks of one
    half, on a bank without the queries of the other, whose clicks say how often each finds first what was clicked; and
    the other way round. The best is chosen if its gain over no correction is above one standard error over the queries.
    The vectors get the prior that all clicks make at the chosen power. Raises `InputError` for fewer than 20 different
    queries.
    """
    clicks, asked = vectors.clicks, vectors.clicked
    if clicks is None or asked is None:
        return vectors, None
    bank = vectors.bank.source
    places = distinct_rows(StackedVectors([bank, asked], "queries"), recipe.metric)[1]
    banked, place = places[: bank.shape[0]], places[bank.shape[0] :][clicks.queries]
    shuffled = np.random.default_rng([recipe.seed, 3]).permutation(np.unique(place))
    if len(shuffled) < FEWEST_PAIRS:
        raise InputError("clicks", f"those of at least {FEWEST_PAIRS} different queries", f"of {len(shuffled)}")
    known = np.union1d(clicks.targets, sampled_rows(vectors.targets.shape[0], MOST_TARGETS))
    targets = TakenVectors(vectors.targets, known, vectors.targets.name)
    found = {name: np.zeros(len(place)) for name in (RAW, PLAIN, *POWERS)}
    for half in (shuffled[::2], shuffled[1::2]):
        held = np.isin(place, half)
        rows = np.flatnonzero(~np.isin(banked, half))
        taken = TakenVectors(bank, rows[sampled_rows(len(rows), MOST_QUERIES)], bank.name)
        others = without_copies(taken, metric=recipe.metric)
        offsets = []
        for power in (None, *POWERS.values()):
            columns = NO_COLUMNS
            if power is not None:
                columns = clicks[~held].columns(vectors.targets.shape[0], power)[known]
            fits = fit_each(recipe.method, [others], targets, vectors.target_bank, columns)
            offsets += offsets_each(fits, targets, columns)
        _, firsts, queries = np.unique(place[held], return_index=True, return_inverse=True)
        ranked = rankings(asked.take(clicks.queries[held][firsts]), targets, 1, None, *offsets)
        for hits, (_, best) in zip(found.values(), ranked, strict=True):
            hits[held] = known[best[queries, 0]] == clicks.targets[held]
    gains = {name: _gain(hits - found[RAW], clicks, place) for name, hits in found.items()}
    chosen = max(gains, key=lambda name: gains[name][0])
    if gains[chosen][0] <= gains[chosen][1]:
        chosen = RAW
    if chosen == RAW:
        vectors = replace(vectors, notes=[*vectors.notes, SERVED_RAW])
        _log.warning(SERVED_RAW)
    elif chosen in POWERS:
        vectors = replace(vectors, columns=clicks.columns(vectors.targets.shape[0], POWERS[chosen]))
    return vectors, ClicksRecord(
        chosen=chosen,
        clicks=int(clicks.counts.sum()),
        queries=len(shuffled),
        found={name: float(np.average(hits, weights=clicks.counts)) for name, hits in found.items()},
        gain=gains[chosen][0],
        error=gains[chosen][1],
    )


def _gain(gained: F64, clicks: Clicks, place: I64) -> tuple[float, float]:
    """Return the mean of what is gained (p,) over clicks, and its standard error over queries, which are drawn.

    A click on the first hit, which is clicked because it stands there, speaks for no change, only against one.
    """
    counted = np.where(clicks.first, np.minimum(gained, 0), gained) * clicks.counts
    total = clicks.counts.sum()
    mean = counted.sum() / total
    return float(mean), math.sqrt(np.square(np.bincount(place, counted - mean * clicks.counts)).sum()) / total
