"""The basis of a version of fewer dimensions, and how many it has."""

from collections.abc import Iterator

import numpy as np

from hubless.builder.recipe import Recipe
from hubless.corrections import Correction
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import AUTO, Basis, as_compared, check_dims, fit_directions
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample

SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)
"""Shares of the dimensions that are tried, ascending."""
CHANGED = 1 / 4
"""The basis may change this part of the number of first hits that the correction changes."""
MOST_TARGETS, MOST_BANK, MOST_ASKED, HELD_OUT = 4096, 2048, 400, 0.2
"""Rows that the number of dimensions is chosen with; the last is the share of bank queries that are asked."""


def fit_basis(
    recipe: Recipe, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Basis | None:
    """Return the basis that a recipe asks for; None if all dimensions are kept."""
    if recipe.dims is None:
        return None
    check_dims(recipe.dims, targets.shape[1])
    directions = fit_directions(query_bank, targets if target_bank is None else target_bank, recipe.metric)
    dims = _fewest(recipe, directions, targets, query_bank) if recipe.dims == AUTO else int(recipe.dims)
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
