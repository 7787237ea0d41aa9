"""Quality of a collection's ranking, raw and corrected, on queries whose relevant targets are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hubless.diagnosing.gallery import known_targets
from hubless.errors import InputError
from hubless.measures.labels import Labels, known_queries
from hubless.measures.likeness import share_among
from hubless.progress import progress_bars
from hubless.search.collection import MOST_STRENGTH, Collection
from hubless.search.parts import all_scores
from hubless.vectors.arrays import I64, check_between
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample
from hubless_lab.experiments.comparisons import Comparison
from hubless_lab.experiments.measured_rows import left_out_note, measured_rows
from hubless_lab.experiments.tally import RANKED_DEPTHS, RECALLS, Attribute, Result, Tally, counted_depths
from hubless_lab.experiments.trials import LEAK
from hubless_lab.measures import as_groups

_SCORES_HELD = 2**24
LOOKED_UP = 2000
"""Test queries, and right targets, that are looked up in the bank."""


def evaluate(
    collection: Collection,
    queries: Vectors,
    relevant: Labels,
    *,
    strength: float | None = None,
    recalls: Sequence[int] = RECALLS,
    depths: Sequence[int] = RANKED_DEPTHS,
    attribute: str | None = None,
    top: int = 10,
    progress: bool | None = None,
) -> Comparison:
    """Rank all targets for each query, exactly, and measure both rankings: the rows `raw` and `corrected`.

    Raises `InputError` if queries and relevant targets do not fit the collection or each other.

    Parameters
    ----------
    queries : (m, d): a file, an array, or a source
    relevant : for each query the id of its right target, or a list of ids: docs/cli.md, "Labels"
    strength : λ of the corrected ranking; None is the default of the version, as it is served
    recalls : the k of R@k
    depths : the k of N_k, from which hubness is measured
    attribute : a payload column whose groups are counted among the first `top` of each query
    """
    recalls, depths = counted_depths(recalls, depths)
    applied = collection.strength if strength is None else strength
    check_between("strength", applied, 0, MOST_STRENGTH)
    items = as_items(queries, "queries")
    source = collection.parts.space.compared(items.vectors, reference="the collection")
    right = measured_rows(relevant, known_targets(collection), known_queries(items))
    answered = np.flatnonzero([len(rows) > 0 for rows in right])
    counted = None if attribute is None else Attribute(as_groups(_column(collection, attribute), attribute), top)
    raw, corrected = (Tally(collection.count, recalls, counted, depths) for _ in range(2))
    start = 0
    with progress_bars(progress) as steps:
        advance = steps.step("evaluating", source.shape[0])
        for block in source.blocks(max(1, _SCORES_HELD // collection.count)):
            rows = answered[(answered >= start) & (answered < start + len(block))]
            if len(rows):
                both = all_scores(collection.parts, block[rows - start], (0.0, applied))
                for tally, scores in zip((raw, corrected), both, strict=True):
                    tally.add(scores, [right[row] for row in rows])
            start += len(block)
            advance(len(block))
    record = collection.manifest.correction
    results = [Result("raw", "none", {}, len(right)), Result("corrected", record.name, record.parameters, len(right))]
    for result, tally, details in zip(results, (raw, corrected), ({}, record.details), strict=True):
        result.add(answered, tally, details)
    left_out = np.setdiff1d(np.arange(len(right)), answered).tolist()
    notes = [*_leak_notes(collection, source, right), *left_out_note(left_out, len(right))]
    notes.append(f"collection {collection.name}, version {collection.version}, strength {applied:g}")
    return Comparison(
        protocol="collection",
        queries=len(answered),
        targets=collection.count,
        several_relevant=max(map(len, right)) > 1,
        depths=depths,
        baseline="raw",
        left_out=left_out,
        notes=notes,
        group_shares={} if counted is None else counted.groups.by_name(),
        rows=[result.row(results[0]) for result in results],
    )


def _leak_notes(collection: Collection, queries: VectorSource, right: Sequence[I64]) -> list[str]:
    """Return notes on test queries and right targets that are in the bank, looking up 2,000 of each at most."""
    # the bank of the fit, or the sample of it that every version keeps
    bank = collection.correction().state().get("bank")
    bank = collection.parts.bank_sample if bank is None else np.ascontiguousarray(bank, np.float32)
    if bank is None:
        return []
    chosen = np.random.default_rng(0).permutation(np.unique(np.concatenate(right)))[:LOOKED_UP]
    held = ArrayVectors(bank, "query bank")
    metric = collection.manifest.metric
    found = {
        "test queries": share_among(in_memory(sample(queries, LOOKED_UP)), held, metric),
        "right targets": share_among(collection.parts.targets.vectors(np.sort(chosen)), held, metric),
    }
    return [
        f"{100 * share:.3g} % of the {what} are in the query bank of this version: {LEAK}. Avoid it by strict splits"
        for what, share in found.items()
        if share
    ]


def _column(collection: Collection, name: str) -> list[Any]:
    known = collection.manifest.payload_columns
    if name not in known:
        raise InputError("attribute", f"one of the payload columns {known}" if known else "a payload", name)
    rows = collection.payload(np.arange(collection.count).tolist(), [name])
    return [None if row is None else row[name] for row in rows]
