"""Proves on a sample that the right things are in the files of a version: index, vectors, offsets, and correction."""

import numpy as np

from hubless.knn.augment import folded_queries
from hubless.knn.tuning import SCORE_TOLERANCE
from hubless.search.canaries import above, stored_scores
from hubless.search.collection import Collection
from hubless.search.parts import Parts
from hubless.search.segments.targets import Targets
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors

_SAMPLE = 64
_K = 10
_OFFSET_TOLERANCE = 1e-3
"""Stored vectors may be rounded to float16, and another processor may have rounded the fit in its own way."""


def version_problem(parts: Parts) -> str | None:
    """Return why a version, as it was built or with its writes, is not sound; None if it is.

    It looks at up to 64 targets, evenly spaced, that have a vector.
    """
    targets = parts.targets
    count = len(targets)
    rows = np.unique(np.linspace(0, max(0, count - 1), min(count, _SAMPLE)).astype(np.int64))
    rows = rows[targets.have_vectors(rows)]
    if not len(rows):
        return None
    vectors = targets.vectors(rows)
    return _index_problem(targets, vectors) or _offsets_problem(parts, rows, vectors)


def _index_problem(targets: Targets, vectors: F32) -> str | None:
    """Return how what the index finds for some vectors differs from stored vectors and offsets."""
    if not np.isfinite(vectors).all():
        return "the index has vectors that are not finite"
    found, rows = targets.find(folded_queries(vectors, 1.0), min(_K, targets.room(None)), targets.defaults, None)
    wrong = np.abs(above(found, stored_scores(targets, vectors, rows))) > 10 * SCORE_TOLERANCE
    if wrong.any():
        return f"the index gives {wrong.sum()} of {wrong.size} hits another score than their vectors and offsets do"
    return None


def _offsets_problem(parts: Parts, rows: I64, vectors: F32) -> str | None:
    """Return how the offsets of some rows differ from those that the correction gives their vectors."""
    columns = parts.columns(rows)
    # older versions did not keep what came from a file
    if not parts.is_folded or columns.by_role.keys() != parts.manifest.roles.keys():
        return None
    expected = parts.correction().offsets(ArrayVectors(vectors, "vectors"), columns=columns)
    apart = np.abs(above(parts.targets.offsets(rows), expected))
    if not apart.max() <= _OFFSET_TOLERANCE:
        wrong = int((~(apart <= _OFFSET_TOLERANCE)).sum())
        return f"{wrong} of {len(apart)} offsets differ from those of the stored correction, by up to {apart.max():.2g}"
    return None


def collection_problem(collection: Collection) -> str | None:
    """Return as `version_problem` why a collection is not sound, or if ids are there twice."""
    targets = collection.parts.targets
    ids = targets.ids.ids(np.arange(len(targets)))
    if len(set(ids)) != len(ids):
        return f"{len(ids) - len(set(ids))} ids are there twice"
    return version_problem(collection.parts)
