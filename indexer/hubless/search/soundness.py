"""Proves on a sample that the right things are in the files of a version: index, vectors, offsets, and correction."""

import numpy as np

from hubless.corrections.centred import CentredCorrection
from hubless.corrections.traits import NO_TRAITS, TargetTraits
from hubless.knn import SCORE_TOLERANCE
from hubless.search.canaries import stored_scores
from hubless.search.collection import Collection
from hubless.search.engines.base import Targets
from hubless.search.parts import traits_of
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors

SAMPLE = 64
_K = 10
_OFFSET_TOLERANCE = 1e-3
"""Stored vectors may be rounded to float16, and the device of the fit may have rounded in its own way."""


def sample_of(count: int) -> I64:
    """Return up to 64 rows (a,) of so many, evenly spaced."""
    return np.unique(np.linspace(0, max(0, count - 1), min(count, SAMPLE)).astype(np.int64))


def index_problem(targets: Targets, offsets: F32, count: int) -> str | None:
    """Return how the index differs from the stored vectors and offsets (n,); None if it does not."""
    if not count:
        return None
    vectors = targets.vectors(sample_of(count))
    if not np.isfinite(vectors).all():
        return "the index has vectors that are not finite"
    found, rows = targets.find(targets.augmented(vectors, 1.0), min(_K, count), targets.defaults, None)
    rows = np.where(rows < 0, 0, rows)
    expected = np.where(np.isfinite(found), stored_scores(targets, offsets, vectors, rows), found)
    wrong = np.abs(found - expected) > 10 * SCORE_TOLERANCE * np.maximum(1.0, np.abs(expected))
    if wrong[np.isfinite(found)].any():
        return f"the index gives {wrong.sum()} of {wrong.size} hits another score than their vectors and offsets do"
    return None


def offsets_problem(
    correction: CentredCorrection, vectors: F32, offsets: F32, traits: TargetTraits = NO_TRAITS
) -> str | None:
    """Return how offsets (a,) differ from those that a fitted correction gives vectors (a, d); None if they do not."""
    if not len(vectors):
        return None
    expected = correction.offsets(ArrayVectors(vectors, "vectors"), traits=traits)
    apart = np.abs(expected - offsets) / np.maximum(1.0, np.abs(expected))
    if not apart.max() <= _OFFSET_TOLERANCE:
        wrong = int((~(apart <= _OFFSET_TOLERANCE)).sum())
        return f"{wrong} of {len(apart)} offsets differ from those of the stored correction, by up to {apart.max():.2g}"
    return None


def version_problem(targets: Targets, offsets: F32, correction: CentredCorrection | None, count: int) -> str | None:
    """Return why a version that is about to be published is not sound; None if it is. `correction` gave its offsets."""
    problem = index_problem(targets, offsets, count)
    if problem is None and correction is not None and count:
        rows = sample_of(count)
        problem = offsets_problem(correction, targets.vectors(rows), offsets[rows])
    return problem


def collection_problem(collection: Collection) -> str | None:
    """Return why a version as it was built, or with its writes, is not sound; None if it is."""
    base, manifest = collection.origin, collection.origin.manifest
    parts = base.parts
    if (problem := index_problem(parts.targets, parts.offsets, manifest.count - manifest.vectorless)) is not None:
        return problem
    ids = base.ids(np.arange(base.count))
    if len(set(ids)) != len(ids):
        return f"{len(ids) - len(set(ids))} ids are there twice"
    rows = sample_of(collection.count)
    rows = rows[collection.parts.targets.have_vectors(rows)]
    if not collection.parts.is_folded or not len(rows):
        return None
    if any(each and each.column is None for each in (manifest.target_prior, manifest.own_offsets)):
        return None  # it came from a file, and is not kept
    columns = None if collection.parts.payload_table is None else collection.parts.payload_table.take(rows)
    vectors, traits = collection.parts.targets.vectors(rows), traits_of(manifest, columns, len(rows))
    return offsets_problem(collection.correction(), vectors, collection.offsets[rows], traits)
