"""A report of the lab: what diagnosis, comparison and sensitivity say of the same data."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless import measures
from hubless.corrections import CORRECTIONS, Correction
from hubless.errors import InputError
from hubless.lab.compare import compare
from hubless.lab.comparison import Comparison
from hubless.lab.diagnose import MAIN_DEPTH, Diagnosis, diagnose, stored_bank
from hubless.lab.gallery import Gallery
from hubless.lab.relevance import Relevant
from hubless.lab.trials import Trial, banked_trial, open_pairs, strict_trial
from hubless.progress import progress_bars
from hubless.vectors.files import Vectors
from hubless.vectors.sources import in_memory

MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
"""Temperatures, in multiples of the one that `auto` chooses."""
BANK_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
MOST_TARGETS = 5000
"""Sensitivity is measured on so many targets: it is the shape that counts."""
TESTED = 1000
SEEDS = 3


@dataclass(frozen=True)
class CurvePoint:
    """What a correction does at one setting: skewness of N_10, and R@1 if there are labels."""

    setting: float
    skewness: float
    recall: float | None


@dataclass(frozen=True)
class Report:
    """All that the page shows. Curves are by the name of the correction."""

    name: str
    diagnosis: Diagnosis
    comparison: Comparison | None
    raw: CurvePoint
    by_temperature: dict[str, list[CurvePoint]]
    by_bank: dict[str, list[CurvePoint]]
    temperature: float
    tested: int


def make_report(
    gallery: Gallery,
    query_bank: Vectors | None = None,
    *,
    target_bank: Vectors | None = None,
    queries: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    seeds: int = SEEDS,
    seed: int = 0,
    bank_of_targets: bool = False,
    progress: bool | None = None,
) -> Report:
    """Diagnose, compare corrections if there are labels, and vary temperature and bank size.

    With labels and no query bank, the queries are the bank of the diagnosis, and are split by the strict protocol for
    all that is compared.

    Raises
    ------
    InputError
        if there is neither a query bank nor labelled queries, or inputs do not fit each other.
    """
    if (queries is None) != (relevant is None):
        given = "queries" if relevant is None else "relevant"
        raise InputError("labels", "both queries and relevant targets", f"only {given}")
    bank = query_bank if query_bank is not None or gallery.collection is not None else queries
    if bank is None and gallery.collection is None:
        raise InputError("query bank", "a query bank, or labelled queries", "none")
    diagnosis = diagnose(
        gallery, bank, target_bank=target_bank, seed=seed, bank_of_targets=bank_of_targets, progress=progress
    )
    comparison = None
    if queries is not None and relevant is not None:
        comparison = compare(
            queries,
            gallery.targets,
            relevant,
            query_bank=query_bank,
            target_bank=target_bank if query_bank is not None else None,
            metric=gallery.metric,
            seeds=seeds,
            bank_of_targets=bank_of_targets,
            progress=progress,
        )
        pairs = open_pairs(queries, gallery.targets, relevant, gallery.metric)
        if query_bank is None:
            trial = strict_trial(pairs, seed)
        else:
            trial = banked_trial(pairs, in_memory(gallery.queries(query_bank, "query bank")))
    else:
        trial = _unlabelled(gallery, bank, seed)
    trial = _cut(trial, seed)
    temperature = float(diagnosis.auto["temperature"])
    with progress_bars(progress) as steps:
        steps.step("varying temperature and bank")
        temperatures = [temperature * multiple for multiple in MULTIPLES]
        sizes = [size for size in BANK_SIZES if size < len(trial.query_bank)] + [len(trial.query_bank)]
        by_temperature = {
            name: [_point(trial, CORRECTIONS[name](temperature=value), value) for value in temperatures]
            for name in ("is", "sn")
        }
        shuffled = np.random.default_rng(seed).permutation(len(trial.query_bank))
        by_bank = {
            name: [_point(replace(trial, query_bank=trial.query_bank[shuffled[:size]]), make(), size) for size in sizes]
            for name, make in {"auto": CORRECTIONS["auto"], "csls": CORRECTIONS["csls"]}.items()
        }
        raw = _point(trial, CORRECTIONS["none"](), 0.0)
    return Report(gallery.name, diagnosis, comparison, raw, by_temperature, by_bank, temperature, len(trial.queries))


def _unlabelled(gallery: Gallery, bank: Vectors | None, seed: int) -> Trial:
    """A third of the bank measures, the rest is the bank."""
    source = stored_bank(gallery) if bank is None else gallery.queries(bank, "query bank")
    queries = in_memory(source)
    order = np.random.default_rng(seed).permutation(len(queries))
    tested = max(1, min(TESTED, len(queries) // 3))
    targets = in_memory(gallery.targets)
    rows = np.sort(order[:tested])
    return Trial(rows, queries[rows], [], np.arange(len(targets)), targets, queries[order[tested:]], None)


def _cut(trial: Trial, seed: int) -> Trial:
    """At most so many targets, those that are relevant first, and so many test queries."""
    rng = np.random.default_rng(seed)
    tested = np.sort(rng.permutation(len(trial.queries))[:TESTED])
    relevant = [trial.relevant[row] for row in tested] if trial.relevant else []
    wanted = np.unique(np.concatenate([*relevant, np.empty(0, np.int64)])).astype(np.int64)
    count = len(trial.targets)
    others = rng.permutation(np.setdiff1d(np.arange(count), wanted))[: max(0, MOST_TARGETS - len(wanted))]
    kept = np.sort(np.concatenate([wanted, others]))
    place = np.full(count, -1)
    place[kept] = np.arange(len(kept))
    return Trial(
        trial.rows[tested],
        trial.queries[tested],
        [place[rows] for rows in relevant],
        trial.target_rows[kept],
        trial.targets[kept],
        trial.query_bank,
        None,
    )


def _point(trial: Trial, correction: Correction, setting: float) -> CurvePoint:
    scorer = _fit(trial, correction)
    found, ranks = [], []
    for _, block, scores in trial.rankings([scorer]):
        k = min(MAIN_DEPTH, scores.shape[1])
        found.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
        if trial.relevant:
            ranks.append(measures.ranks(scores, trial.relevant[block]))
    skewness = measures.skewness(measures.k_occurrence(np.concatenate(found), len(trial.targets)))
    return CurvePoint(setting, skewness, measures.recall_at(np.concatenate(ranks), 1) if ranks else None)


def _fit(trial: Trial, correction: Any) -> Any:
    """Fitted; neighbours are cut to what a small bank has."""
    k = getattr(correction, "k", None)
    return trial.fit(replace(correction, k=len(trial.query_bank)) if k and k > len(trial.query_bank) else correction)
