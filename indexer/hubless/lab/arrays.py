"""The lab as functions of arrays: `hubless.compare`, `tune`, `diagnose`, `scan` and `plot_occurrence`.

The first four differ from the functions that they call in two ways: the metric has to be given, as a wrong one measures
something else in silence; and what can be found is an index, or targets with their ids and payload.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.recipe import Metric, check_metric
from hubless.errors import InputError
from hubless.lab import diagnose as diagnosing
from hubless.lab.charts import Chart
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments import compare as comparing
from hubless.lab.experiments import drawing
from hubless.lab.experiments import tune as tuning
from hubless.lab.experiments.comparison import Comparison
from hubless.lab.experiments.methods import Method, Named, parse_methods
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.tune import Tuned
from hubless.lab.gallery import Gallery, gallery_of, gallery_of_matrices, open_gallery
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.scan import scanning
from hubless.lab.scan.findings import Scan
from hubless.search.collection import Collection
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike

Corrections = Sequence[str | Named] | Mapping[str, Mapping[str, Any]]
"""Names of corrections, or pairs of a name and its parameters, or parameters by name."""


def compare(
    queries: Vectors | SimilarityMatrices,
    targets: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    *,
    metric: Metric | None = None,
    corrections: Corrections | None = None,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    **options: Any,
) -> Comparison:
    """Measure several corrections on labelled queries, beside the raw ranking.

    Without a query bank the targets are split in half at random, several times: one half is searched; the queries whose
    targets are in the other half are the bank. With a query bank, all targets are searched and all queries test.

    Parameters
    ----------
    queries : (m, d); or `SimilarityMatrices`, in place of queries, targets and banks
    targets : (n, d)
    relevant : for each query the row number of its right target, or a list of several, or an empty one
    metric : "cosine" or "dot"; it has to be given with vectors
    corrections : names, pairs of a name and its parameters, or parameters by name; None for the usual ones
    query_bank : (b, d), whose own targets are not among the targets
    target_bank : (g, d), only with a query bank
    options : `seeds`, how many splits; `strength`; `recalls`, the k of R@k; `depths`, the k of N_k;
        `baseline`; `distances`; `bank_size` and `draws`, to
        draw so much of the bank, so often; `candidates` of a rescorer; `leave_self_out`, where query i is target i;
        `bank_of_targets`; `progress`

    Returns
    -------
    A comparison: `rows` has one entry a correction, `as_json()` all of it.

    Raises
    ------
    InputError
        naming what is wrong with an input.
    """
    return comparing.compare(
        queries,
        targets,
        _labels(relevant),
        None if corrections is None else _entries(corrections),
        metric=_metric(queries, metric),
        query_bank=query_bank,
        target_bank=target_bank,
        **options,
    )


def _metric(queries: Vectors | SimilarityMatrices, metric: Metric | None) -> Metric:
    if not isinstance(queries, SimilarityMatrices):
        return check_metric(metric)
    if metric is not None:
        raise InputError("metric", "none beside similarities, which are taken as they are", metric)
    return "dot"


def _labels(relevant: str | Path | Relevant | None) -> str | Path | Relevant:
    if relevant is None:
        raise InputError("relevant", "row numbers of right targets", "none")
    return relevant


def _entries(corrections: Corrections) -> list[Method]:
    if isinstance(corrections, str):
        raise InputError("corrections", "a list of names", repr(corrections))
    settings = corrections if isinstance(corrections, Mapping) else {}
    return parse_methods(corrections, {name: values for name, values in settings.items() if values})


def tune(
    queries: Vectors | SimilarityMatrices,
    targets: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    *,
    metric: Metric | None = None,
    corrections: Sequence[str] | None = None,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    **options: Any,
) -> Tuned:
    """Choose the correction that ranks best on labelled queries; `none` unless the gain is real.

    Parameters
    ----------
    queries, targets, relevant, metric, query_bank, target_bank : as for `compare`
    corrections : names of those to try
    options : `grids`, values of parameters by correction; `seeds`, how many splits; `folds` of the queries;
        `bank_of_targets`; `live_queries` (l, d), to choose the strength by; `progress`

    Returns
    -------
    The choice: `correction` and `parameters` go into `Index` or `build`; `gain` is measured on queries that had no
    part in the choice.

    Raises
    ------
    InputError
        naming what is wrong with an input.
    """
    return tuning.tune(
        queries,
        targets,
        _labels(relevant),
        metric=_metric(queries, metric),
        corrections=corrections,
        query_bank=query_bank,
        target_bank=target_bank,
        **options,
    )


def diagnose(
    targets: Vectors | Collection | SimilarityMatrices,
    query_bank: Vectors | None = None,
    *,
    metric: Metric | None = None,
    target_bank: Vectors | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    **options: Any,
) -> Diagnosis:
    """How uneven the answers to bank queries are, and what `auto` does to that. Needs no labels.

    Parameters
    ----------
    targets : (n, d), or an index, or `SimilarityMatrices`
    query_bank : (b, d); may be left out for an index, which then takes the queries that its correction was fitted on
    metric : "cosine" or "dot"; it has to be given with vectors
    target_bank : (g, d) extra targets
    ids, payload : of the targets, to name them in the answer
    options : `top`, how many hubs to name; `seed`; `bank_of_targets`; `live_queries` (m, d), to choose the strength by;
        `progress`

    Returns
    -------
    The diagnosis: `verdict` says in sentences what it means.

    Raises
    ------
    InputError
        naming what is wrong with an input.
    """
    if not isinstance(targets, SimilarityMatrices):
        gallery = _gallery(targets, metric, ids, payload)
        return diagnosing.diagnose(gallery, query_bank, target_bank=target_bank, **options)
    given = {"query bank": query_bank, "target bank": target_bank, "queries": options.get("queries"), "metric": metric}
    for name in (name for name, value in given.items() if value is not None):
        raise InputError(name, "none beside similarities, which stand for all vectors", "one")
    return diagnosing.diagnose(gallery_of_matrices(targets.open(), ids=ids, payload=payload), **options)


def scan(
    targets: Vectors | Collection,
    queries: Vectors,
    *,
    metric: Metric | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    admit: Vectors | None = None,
    **options: Any,
) -> Scan:
    """List targets that real queries find surprisingly often: hubs that may have been planted.

    Parameters
    ----------
    targets : (n, d), or an index
    queries : (m, d) real ones
    metric, ids, payload : as for `diagnose`
    admit : (a, d) new items, each scored as if it alone were added
    options : `budget`, the length of the list; `threshold` of alerts; `modality`, a payload column, the targets of each
        value of which are ranked apart; `force`, to take queries that look like targets; `seed`; `progress`

    Returns
    -------
    The scan: `findings`, the most suspicious first.

    Raises
    ------
    InputError
        naming what is wrong with an input.
    """
    gallery = _gallery(targets, metric, ids, payload)
    new = None if admit is None else open_gallery(admit, metric=gallery.metric, parameter="admit")
    return scanning.scan(gallery, queries, admit=new, **options)


def plot_occurrence(index: Collection) -> Chart:
    """Draw N_10 of an index, raw and corrected: how often held-out bank queries find each target.

    The counts are those of the fit, so this searches for nothing. Targets that were added since are left out.

    Parameters
    ----------
    index : fitted, or opened from a catalog

    Returns
    -------
    A chart: a notebook shows it, `save` writes it as SVG.

    Raises
    ------
    InputError
        if the index has no counts.
    """
    counts = index.occurrence
    known = None if counts is None else np.asarray(counts, np.int64)[:, (np.asarray(counts) >= 0).all(axis=0)]
    if known is None or not known.size:
        raise InputError("index", "one that stores how often its targets are found", "no counts")
    return drawing.occurrence({"raw": known[0], f"with {index.manifest.correction.name}": known[1]})


def _gallery(
    targets: Vectors | Collection, metric: Metric | None, ids: Ids | None, payload: PayloadLike | None
) -> Gallery:
    if not isinstance(targets, Collection):
        return open_gallery(targets, ids=ids, payload=payload, metric=check_metric(metric))
    given = {"ids": ids is not None, "payload": payload is not None, "metric": metric not in (None, targets.metric)}
    for name in (name for name, there in given.items() if there):
        raise InputError(name, "none, as the index has its own", "one")
    return gallery_of(targets)
