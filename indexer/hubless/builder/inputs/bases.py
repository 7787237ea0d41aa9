"""Fewer dimensions: the basis of a version, and how many keep its ranking."""

from collections.abc import Iterator

import numpy as np

from hubless.builder.recipe import Recipe
from hubless.measures.by_content import by_content
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import AUTO_DIMS, Basis, as_compared, check_dims, fit_directions
from hubless.vectors.comparing import OF_TARGETS
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
    dims = _fewest(recipe, directions, targets, query_bank) if asked == AUTO_DIMS else int(asked)
    return None if dims == len(directions) else Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric)


def _fewest(recipe: Recipe, directions: F32, targets: VectorSource, query_bank: VectorSource) -> int:
    """Return the fewest dimensions of which the corrected ranking is nearer to that of all than the raw one is.

    A ranking is as near as the first hits that it has in common, of held-out bank queries. Without labels this is the
    best that can be known: the correction is trusted, and the basis may not undo what it does.
    """
    some = sample(targets, MOST_TARGETS)
    bank = sample(by_content(query_bank), MOST_BANK)
    order = np.random.default_rng([recipe.seed, 2]).permutation(bank.shape[0])
    count = min(MOST_ASKED, max(1, int(HELD_OUT * len(order))))
    asked = bank.take(order[:count])
    fitted = bank.take(order[count:])
    if len(fitted) < 2:
        return len(directions)

    def firsts(basis: Basis | None) -> Iterator[I64]:
        sides = (ArrayVectors(asked, "queries"), ArrayVectors(fitted, "query bank"), some)
        queries, known, found = (in_memory(as_compared(side, recipe.metric, basis, OF_TARGETS)) for side in sides)
        scores = queries @ found.T
        yield scores.argmax(axis=1)
        yield (scores - recipe.method.fit(known, found).offsets(found)).argmax(axis=1)

    raw, corrected = firsts(None)
    allowed = CHANGED * float(np.mean(raw != corrected))
    for share in SHARES:
        dims = max(1, round(share * len(directions)))
        _, reduced = firsts(Basis(np.ascontiguousarray(directions[:, :dims]), recipe.metric))
        if float(np.mean(reduced != corrected)) <= allowed:
            return dims
    return len(directions)
