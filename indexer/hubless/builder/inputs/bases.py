"""The space of a version: which dimensions vectors are reduced to, and how many keep the ranking."""

from collections.abc import Iterator

import numpy as np

from hubless.builder.recipe import Recipe
from hubless.errors import InputError
from hubless.measures.by_content import by_content
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample, under_metric
from hubless.vectors.space import Space

AUTO_DIMS = "auto"
_SAMPLE = 10_000
"""So many rows of each side tell the directions."""
SHARES = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4)
"""Shares of the dimensions that are tried, ascending."""
CHANGED = 1 / 4
"""Fewer dimensions may change this part of the number of first hits that the correction changes."""
MOST_TARGETS, MOST_BANK, MOST_ASKED, HELD_OUT = 4096, 2048, 400, 0.2
"""Rows that the number of dimensions is chosen with; the last is the share of bank queries that are asked."""


def fit_space(
    recipe: Recipe, targets: VectorSource, query_bank: VectorSource, target_bank: VectorSource | None
) -> Space:
    """Return the space that a recipe asks for; of all dimensions if only the index has fewer."""
    check_dims(recipe.dims, targets.shape[1])
    others = targets if target_bank is None else target_bank
    fewer = None if recipe.keep_full else _directions(recipe, targets, query_bank, others)
    return Space(recipe.metric, targets.shape[1], fewer)


def index_directions(recipe: Recipe, targets: VectorSource, query_bank: VectorSource) -> F32 | None:
    """Return the directions (d, k) of an index beside whole vectors; None for all dimensions."""
    return _directions(recipe, targets, query_bank, targets) if recipe.keep_full else None


def _directions(recipe: Recipe, targets: VectorSource, query_bank: VectorSource, others: VectorSource) -> F32 | None:
    if recipe.dims is None:
        return None
    every = fit_directions(query_bank, others, recipe.metric)
    dims = _fewest(recipe, every, targets, query_bank) if recipe.dims == AUTO_DIMS else int(recipe.dims)
    return None if dims == len(every) else np.ascontiguousarray(every[:, :dims])


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

    def firsts(fewer: F32 | None) -> Iterator[I64]:
        space = Space(recipe.metric, len(directions), fewer)
        sides = (ArrayVectors(asked, "queries"), ArrayVectors(fitted, "query bank"), some)
        queries, known, found = (in_memory(space.compared(side, OF_TARGETS)) for side in sides)
        scores = queries @ found.T
        yield scores.argmax(axis=1)
        yield (scores - recipe.method.fit(known, found).offsets(found)).argmax(axis=1)

    raw, corrected = firsts(None)
    allowed = CHANGED * float(np.mean(raw != corrected))
    for share in SHARES:
        dims = max(1, round(share * len(directions)))
        _, reduced = firsts(np.ascontiguousarray(directions[:, :dims]))
        if float(np.mean(reduced != corrected)) <= allowed:
            return dims
    return len(directions)


def check_dims(dims: int | str | None, dim: int) -> None:
    """Raise `InputError` unless some dimensions can be left out."""
    if dims is None or dims == AUTO_DIMS:
        return
    if type(dims) is not int or not 1 <= dims < dim:
        raise InputError("dims", f'a whole number from 1 to {dim - 1}, below the {dim} of the targets, or "auto"', dims)


def fit_directions(bank: VectorSource, others: VectorSource, metric: str) -> F32:
    """Return orthonormal directions (d, d), those with the largest second moments of both sides first.

    They are the eigenvectors of E[bb'] + E[vv'], not centred: so that products of the two sides change least.

    `bank`: (b, d) query bank. `others`: (g, d) target bank, or targets.
    """
    total = np.zeros((bank.shape[1], bank.shape[1]))
    for side in (bank, others):
        rows = in_memory(under_metric(sample(side, _SAMPLE), metric, OF_TARGETS))
        total += (rows.T @ rows).astype(np.float64) / len(rows)
    return np.ascontiguousarray(np.linalg.eigh(total)[1][:, ::-1], np.float32)
