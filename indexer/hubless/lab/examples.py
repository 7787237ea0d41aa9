"""The first hits of chosen queries, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.knn.augment import centre
from hubless.lab.experiments.methods import Method
from hubless.lab.gallery import Gallery, NamedTarget
from hubless.vectors.arrays import F32, I64
from hubless.vectors.files import Items
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory

FIRST = 5
AUTO = Method("auto")


@dataclass(frozen=True)
class ExampleHit:
    """A target in a list of first hits; `right` is None without labels."""

    target: NamedTarget
    score: float
    right: bool | None


@dataclass(frozen=True)
class Example:
    """The first hits of one query, raw and by `auto` that was fitted without this query."""

    query: str
    before: list[ExampleHit]
    after: list[ExampleHit]


def examples_of(
    gallery: Gallery, queries: Items, rows: Sequence[int], bank: VectorSource, relevant: Sequence[I64] | None
) -> list[Example]:
    """Return the first hits of chosen rows of the queries among all targets.

    `auto` is fitted on the bank (b, d) without them.
    """
    count = queries.vectors.shape[0]
    for row in rows:
        if not 0 <= row < count:
            raise InputError("example", f"a row of the queries, from 0 to {count - 1}", row)
    asked = gallery.queries(queries.vectors, "queries").take(np.array(rows, np.int64))
    held = in_memory(bank)
    left_out = {row.tobytes() for row in asked}
    kept = held[[row.tobytes() not in left_out for row in held]]
    if not len(kept):
        raise InputError("example", "a query bank with other queries than these", "none")
    targets = gallery.targets
    k = min(FIRST, targets.shape[0])
    offsets = centre(AUTO.correction().fit(ArrayVectors(kept, "query bank"), targets).offsets(targets))
    raw, corrected = top_k(asked, targets, k), top_k(asked, targets, k, offsets)
    shown = []
    for number, row in enumerate(rows):
        right = None if relevant is None else set(relevant[row].tolist())
        before, after = (_hits(gallery, scores[number], found[number], right) for scores, found in (raw, corrected))
        shown.append(Example(_query_name(queries, row), before, after))
    return shown


def _hits(gallery: Gallery, scores: F32, rows: I64, right: set[int] | None) -> list[ExampleHit]:
    named = zip(gallery.describe(rows.tolist()), scores.tolist(), strict=True)
    return [ExampleHit(target, score, None if right is None else target.row in right) for target, score in named]


def _query_name(queries: Items, row: int) -> str:
    if queries.payload is None or not queries.payload_columns:
        return f"query {row}"
    found = queries.payload.take([row], columns=list(queries.payload_columns)).to_pylist()[0]
    return "; ".join(str(value) for value in found.values() if isinstance(value, str)) or f"query {row}"
