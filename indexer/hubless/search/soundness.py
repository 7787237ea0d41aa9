"""Proves on a sample that the right things are in the files of a version: index, vectors, offsets, and correction."""

import numpy as np

from hubless.corrections.centred import CentredCorrection
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.knn.augment import folded_queries
from hubless.knn.tuning import SCORE_TOLERANCE
from hubless.search.canaries import stored_scores
from hubless.search.collection import Collection
from hubless.search.parts import Parts
from hubless.search.segments.targets import Targets
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors

_SAMPLE = 64
_K = 10
_OFFSET_TOLERANCE = 1e-3
"""Stored vectors may be rounded to float16, and another processor may have rounded the fit in its own way."""


def _sampled(targets: Targets) -> I64:
    """Return up to 64 rows (a,) of targets, evenly spaced, that have a vector."""
    count = len(targets)
    rows = np.unique(np.linspace(0, max(0, count - 1), min(count, _SAMPLE)).astype(np.int64))
    return rows[targets.have_vectors(rows)]


def index_problem(targets: Targets, sampled: I64) -> str | None:
    """Return how the index differs from stored vectors and offsets of some rows; None if it does not."""
    if not len(sampled):
        return None
    vectors = targets.vectors(sampled)
    if not np.isfinite(vectors).all():
        return "the index has vectors that are not finite"
    found, rows = targets.find(folded_queries(vectors, 1.0), min(_K, targets.room(None)), targets.defaults, None)
    rows = np.where(rows < 0, 0, rows)
    expected = np.where(np.isfinite(found), stored_scores(targets, vectors, rows), found)
    wrong = np.abs(found - expected) > 10 * SCORE_TOLERANCE * np.maximum(1.0, np.abs(expected))
    if wrong[np.isfinite(found)].any():
        return f"the index gives {wrong.sum()} of {wrong.size} hits another score than their vectors and offsets do"
    return None


def offsets_problem(
    correction: CentredCorrection, vectors: F32, offsets: F32, columns: TargetColumns = NO_COLUMNS
) -> str | None:
    """Return how offsets (a,) differ from those that a fitted correction gives vectors (a, d); None if they do not."""
    if not len(vectors):
        return None
    expected = correction.offsets(ArrayVectors(vectors, "vectors"), columns=columns)
    apart = np.abs(expected - offsets) / np.maximum(1.0, np.abs(expected))
    if not apart.max() <= _OFFSET_TOLERANCE:
        wrong = int((~(apart <= _OFFSET_TOLERANCE)).sum())
        return f"{wrong} of {len(apart)} offsets differ from those of the stored correction, by up to {apart.max():.2g}"
    return None


def version_problem(parts: Parts) -> str | None:
    """Return why a version, as it was built or with its writes, is not sound; None if it is."""
    targets = parts.targets
    rows = _sampled(targets)
    if (problem := index_problem(targets, rows)) is not None:
        return problem
    columns = parts.columns(rows)
    # older versions did not keep what came from a file
    if not parts.is_folded or columns.by_role.keys() != parts.manifest.roles.keys():
        return None
    return offsets_problem(parts.correction(), targets.vectors(rows), targets.offsets(rows), columns)


def collection_problem(collection: Collection) -> str | None:
    """Return as `version_problem` why a collection is not sound, or if ids are there twice."""
    targets = collection.parts.targets
    ids = targets.ids.ids(np.arange(len(targets)))
    if len(set(ids)) != len(ids):
        return f"{len(ids) - len(set(ids))} ids are there twice"
    return version_problem(collection.parts)
