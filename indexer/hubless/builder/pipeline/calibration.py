"""Confidence, and the default strength, by labelled queries that a collection was not fitted on."""

from typing import Any

from hubless.builder.banks.default_strength import unlabelled_strength
from hubless.builder.pipeline.fit import calibrated, judged_by
from hubless.errors import InputError
from hubless.measures.confidence.calibration_pairs import MOST_PAIRS, LabelledPairs, calibrating_rows
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.search.collection import Collection
from hubless.search.parts import Parts
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import in_memory


def told_by_labels(parts: Parts, queries: Vectors, relevant: Labels) -> dict[str, Any]:
    """Return the model of confidence and the strength of a collection, as labelled queries tell them.

    `queries` (p, d) and `relevant` are as for `Index.calibrate`, as are errors.
    """
    if parts.confidence is None:
        raise InputError("index", "one with a model of confidence; build it with a query bank", "one without")
    items = as_items(queries, "queries")
    asked = Collection(parts).prepare(in_memory(items.vectors), "queries")
    rows = calibrating_rows(relevant, KnownItems(len(parts.targets), parts.ids), known_queries(items))
    labelled = [(query, right) for query, right in enumerate(rows) if right is not None][:MOST_PAIRS]
    pairs = LabelledPairs(asked[[query for query, _ in labelled]], [right for _, right in labelled])
    found = judged_by(unlabelled_strength(parts.manifest), parts.ranker, pairs)
    return {
        "model": calibrated(parts.confidence, parts.ranker, pairs, found.value),
        "strength": found.value,
        "decided": found,
    }
