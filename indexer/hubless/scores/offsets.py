"""Offsets and augmented vectors as plain arrays, for those who have an engine already."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hubless.corrections import correction as make_correction, folds, is_given
from hubless.corrections.banks.bank_checks import check_bank
from hubless.corrections.banks.counts import counts_of
from hubless.corrections.banks.far_away import check_near
from hubless.corrections.banks.live_queries import drawn, strength_by_offsets
from hubless.corrections.fits import fit_each
from hubless.corrections.roles import PRIOR, NumbersLike
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, offsets_each
from hubless.errors import InputError
from hubless.knn import augment
from hubless.measures.evenness import ChosenStrength
from hubless.measures.repeats import with_copies
from hubless.vectors.arrays import F32, as_array, as_vectors, check_between, check_dim
from hubless.vectors.comparing import OF_QUERIES, OF_TARGETS, ComparedSide, Metric, check_metric, comparison
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import HeldVectors, in_memory, under_metric

UNIT = 1e-3
"""A length that differs from 1 by less counts as 1."""


def offsets(
    targets: Vectors,
    query_bank: Vectors,
    *,
    metric: Metric | None = None,
    correction: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    target_bank: Vectors | None = None,
    bank_of_targets: bool = False,
    target_prior: NumbersLike | None = None,
) -> F32:
    """The offset h of each target: how much of a hub it is. Rank by q·t − h.

    The correction is fitted on all of the bank: these are the offsets that `Index.fit` and `build` store. Returns (n,)
    float32 in units of similarity, centred: their mean is 0. Positive is a hub. Raises `InputError` naming what is
    wrong with an input; also its kinds DimensionMismatch, NotFinite, ZeroVector.

    Parameters
    ----------
    targets : (n, d)
    query_bank : (b, d) example queries; a column `count` says how often each was asked
    metric : "cosine" compares directions, "dot" takes lengths into account, "euclidean" takes distances; to be given
    correction : a name in `hubless.CORRECTIONS` that folds into offsets
    parameters, target_bank, bank_of_targets, target_prior : as for `hubless.build`
    """
    known = check_metric(metric)
    if is_given(correction):
        raise InputError("correction", "one that is fitted on queries: you have these offsets already", correction)
    method = make_correction(correction, parameters, known)
    if not folds(correction) and getattr(method, "gate", None) != "target":
        raise InputError("correction", "one that folds into offsets, such as auto", correction)
    items = as_items(targets, "targets")
    all_targets = under_metric(items.vectors, known, OF_TARGETS)
    asked = as_items(query_bank, "query bank")
    queries = under_metric(asked.vectors, known, OF_QUERIES)
    # it is read again and again
    bank = with_copies(HeldVectors(in_memory(queries), queries.name), counts_of(asked))
    extra = None
    if target_bank is not None:
        extra = under_metric(as_items(target_bank, "target bank").vectors, known, OF_TARGETS)
    check_near(all_targets, known)
    columns = NO_COLUMNS
    if target_prior is not None:
        columns = columns.beside(PRIOR, TargetColumn(PRIOR.given(target_prior, all_targets.shape[0], items.ids)))
    checked = check_bank(bank, all_targets, known, bank_of_targets=bank_of_targets).logged()
    fits = fit_each(method, [checked.once], all_targets, extra, columns)
    return augment.centre(offsets_each(fits, all_targets, columns)[0])


def choose_strength(
    live_queries: Vectors, targets: Vectors, offsets: ArrayLike, *, metric: Metric | None = None
) -> ChosenStrength:
    """Choose the strength λ that suits live queries, which need no labels: rank by q·t − λ·h.

    Of λ = 0, ¼, ½, ¾ and 1 it is the one nearest to 1 at which the top 10 of the live queries are spread over the
    targets as evenly as at the most even one, but for one standard error. Evenness is the entropy of how often each
    target is found. Live queries with nearly the same raw top 10 count once: what many ask for is popular, and no hub.
    Give about 200: with fewer than 20 different ones the answer is 1, and at most 1,000 are used, drawn at random.
    Returns `strength`, and the figures that speak for it. 0 or ¼ means that the query bank is not like the live
    queries. 1 does not say that answers get better: where popular targets are right, evenness harms. Raises
    `InputError` naming what is wrong with an input; also if the live queries are targets.

    Parameters
    ----------
    live_queries : (m, d) queries that people asked; not those of the query bank
    targets : (n, d)
    offsets : (n,) as `offsets` gives them
    metric : "cosine" compares directions, "dot" takes lengths into account, "euclidean" takes distances; to be given
    """
    known = check_metric(metric)
    live_source = under_metric(as_items(live_queries, "live queries").vectors, known, OF_QUERIES)
    all_targets = under_metric(as_items(targets, "targets").vectors, known, OF_TARGETS)
    check_dim(live_source.shape[1], all_targets.shape[1], live_source.name, all_targets.name)
    h = _checked_offsets(offsets, all_targets.shape[0])
    return strength_by_offsets(drawn(live_source, all_targets, known), all_targets, h)


def augment_targets(targets: ArrayLike, offsets: ArrayLike, metric: Metric | None = None) -> F32:
    """[t, −h, 0 …]: targets with their offsets, so that an inner product with `augment_queries` is q·t − h.

    The offset stands in two coordinates: what float16 holds of it, and the rest. Zeros fill up to a multiple of 16
    dimensions, as many engines scan these faster. Returns (n, d') float32. Raises `InputError`.

    Parameters
    ----------
    targets : (n, d)
    offsets : (n,) as `offsets` gives them
    metric : "cosine" brings the targets to length 1, "dot" takes them as they are, "euclidean" adds three coordinates
        to them, so that the product is −½|q − t|² − h. It may be left out where all have length 1, as all rank alike
    """
    vectors = _prepared(targets, "targets", metric, OF_TARGETS)
    h = _checked_offsets(offsets, len(vectors))
    return augment.folded_targets(vectors, h, half=bool(np.abs(h).max(initial=0) <= augment.LARGEST_HALF))


def augment_queries(queries: ArrayLike, strength: float = 1.0, metric: Metric | None = None) -> F32:
    """[q, λ, λ, 0 …]: queries whose inner product with `augment_targets` is q·t − λh.

    Returns (m, d') float32. Raises `InputError`.

    Parameters
    ----------
    queries : (m, d) or (d,)
    strength : λ, from 0, the raw ranking, to 2
    metric : as for `augment_targets`
    """
    check_between("strength", strength, 0, 2)
    return augment.folded_queries(_prepared(queries, "queries", metric, OF_QUERIES), strength)


def _checked_offsets(offsets: ArrayLike, count: int) -> F32:
    h = np.ascontiguousarray(as_array(offsets, "offsets"), np.float32)
    if h.shape != (count,):
        raise InputError("offsets", f"{count}, one a target", f"an array of shape {h.shape}")
    if not np.isfinite(h).all():
        raise InputError("offsets", "finite numbers", h[int(np.argmin(np.isfinite(h)))])
    return h


def _prepared(given: ArrayLike, name: str, metric: Metric | None, side: ComparedSide) -> F32:
    vectors = as_vectors(given, name)
    if metric is not None:
        return comparison(check_metric(metric)).compared(vectors, name, side=side)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if (far := np.abs(lengths - 1) > UNIT).any():
        row = int(np.argmax(far))
        raise InputError(
            "metric",
            f"cosine, dot or euclidean, as not all {name} have length 1",
            f"none; row {row}: {lengths[row]:.4g}",
        )
    return vectors
