"""Hubness without labels: how uneven the finds of held-out bank queries are, and what `auto` does to it."""

from typing import Any

import numpy as np

from hubless import measures
from hubless.builder.banks.bank_checks import MOST_TARGETS, UNUSABLE, check_bank, is_unusable, narrow_notes
from hubless.builder.banks.bank_review import drawn, strength_by_offsets
from hubless.builder.banks.bank_review import verdict as verdict_of_live
from hubless.corrections import correction as correction_named
from hubless.errors import InputError
from hubless.lab.charts import Chart, occurrence_chart
from hubless.lab.corpus import Corpus, examine_corpus
from hubless.lab.cross_fit import expected_gain, held_out_rankings, signs
from hubless.lab.diagnosis import CLEAR, DEPTHS, MAIN_DEPTH, Depth, Diagnosis, Hub, Shape, level_of
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparisons import Comparison
from hubless.lab.gallery import Gallery, as_gallery
from hubless.lab.pages import render
from hubless.lab.symptoms import ELSEWHERE, find_symptoms
from hubless.measures.chance import Chance
from hubless.measures.labels import Labels
from hubless.progress import Progressing, progress_bars
from hubless.search.collection import Collection
from hubless.store.bundle import BankRecord
from hubless.vectors.comparing import Metric, comparison
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import ArrayVectors, VectorSource

SHOWN = 10
FEW, ENOUGH = 100, 1000
"""Fewer bank queries than the first make offsets mostly noise; above the second, more bring little."""
CONSTANT = 1e-6
MOST_OF_A_LOG = 0.5
"""Share of the bank that repeats other queries, above which the bank does not tell what people gain."""
MEASURE_IT = "Give labels (`--set queries=FILE` and `relevant=FILE`), and the gain is measured."
SPLITS = 5


def diagnose(
    targets: Vectors | Collection | Gallery,
    query_bank: Vectors | None = None,
    *,
    metric: Metric | None = None,
    target_bank: Vectors | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    top: int = SHOWN,
    queries: Vectors | None = None,
    relevant: Labels | None = None,
    measured: Comparison | None = None,
    seed: int = 0,
    bank_of_targets: bool = False,
    live_queries: Vectors | None = None,
    progress: Progressing = None,
) -> Diagnosis | Corpus:
    """Measure hubness with bank queries that are held out from the fit of `auto`, in turn. Needs no labels.

    Without any queries, a `Corpus` tells how targets find each other, which says nothing of what queries find.
    `verdict` says in sentences what it means, `symptoms` what speaks for broken vectors. Raises `InputError` if inputs
    do not fit each other, the bank has fewer than 10 queries, or more than a tenth of it are targets.

    Parameters
    ----------
    targets : (n, d), or an index
    query_bank : (b, d) example queries; may be left out for an index, which then takes the queries that its correction
        was fitted on, and where there are none
    metric : "cosine", "dot" or "euclidean"; it has to be given with vectors
    target_bank : (g, d) extra targets
    ids, payload : of the targets, to name them in the answer
    top : how many hubs to name
    queries, relevant : labelled queries (m, d) and their right targets (docs/lab.md, "Labels"), to measure what `auto`
        gains; without a query bank these queries are the bank
    measured : instead of labels, a comparison of `none` and `auto` on them that was made already
    seed : of what is sampled and held out
    bank_of_targets : take a query bank that holds targets; that of an index is taken always
    live_queries : (m, d) queries that people asked, without labels: they say whether the bank is like them
    """
    gallery = as_gallery(targets, metric, ids, payload)
    check_labels(queries, relevant)
    if query_bank is None and queries is None and not has_bank(gallery):
        for name, given in (("target_bank", target_bank), ("live_queries", live_queries)):
            if given is not None:
                raise InputError(name, "none without a query bank, beside which it is looked at", "one")
        return examine_corpus(gallery, top, seed, progress)
    live = None
    if live_queries is not None:
        live = drawn(gallery.queries(live_queries, "live queries"), gallery.targets, gallery.metric)
    if query_bank is None and gallery.collection is None:
        query_bank = queries
    auto = correction_named("auto", metric=gallery.metric)
    bank = bank_of(gallery, query_bank)
    extra = None if target_bank is None else gallery.items(target_bank, "target bank")
    told = bank_of_targets or query_bank is None
    checked = check_bank(bank, gallery.targets, gallery.metric, bank_of_targets=told, seed=seed)
    record, once, in_verdict = checked.record, checked.once, [UNUSABLE, *narrow_notes(checked.record)]
    notes = [note.rstrip(".") for note in checked.notes if note not in in_verdict]
    count, dim = gallery.targets.shape[0], gallery.dim
    with progress_bars(progress) as steps:
        advance = steps.step("holding out bank queries in turn", count)
        k = min(max(DEPTHS), count)
        held = held_out_rankings(auto, once, gallery.targets, k, target_bank=extra, seed=seed, advance=advance)
    depths = []
    for k in (k for k in DEPTHS if k <= count):
        uneven, evened = (Shape.of(measures.k_occurrence(rows[:, :k], count)) for rows in (held.raw, held.corrected))
        depths.append(Depth(k, uneven, evened, Chance.of(len(held.raw), count, k)))
    main = next((depth for depth in depths if depth.k == min(MAIN_DEPTH, count)), depths[-1])
    raw, corrected = (measures.k_occurrence(rows[:, : main.k], count) for rows in (held.raw, held.corrected))
    if np.ptp(held.similarities, axis=1).max() < CONSTANT:
        notes.append("every query is equally similar to the targets that it finds: there is nothing to rank by")
    if measured is None and queries is not None:
        options: dict[str, Any] = {"corrections": ["none", "auto"], "seeds": SPLITS, "progress": False}
        right = gallery.right(queries, relevant)
        measured = compare(
            gallery.queries(queries, "queries"),
            gallery.targets,
            right,
            metric=comparison(gallery.metric).of_compared,
            **options,
        )
    level = _level(main, once.shape[0])
    symptoms = find_symptoms(bank, gallery.targets, gallery.metric, record, raw, live, seed)
    notes += [each.sentence.rstrip(".") for each in symptoms if each.name == "missing-prefix"]
    strength = None if live is None else strength_by_offsets(live, gallery.targets, held.offsets)
    unknown = _why_unknown(record)
    expected = None if unknown else expected_gain(signs(held, count))
    mutual = [
        measures.reciprocity(held.queries, gallery.targets.take(rows[:, 0])) for rows in (held.raw, held.corrected)
    ]
    verdict = render(
        "verdict.txt",
        reciprocity=mutual,
        gain=None if measured is None else _gain(measured),
        symptoms=symptoms,
        level=level,
        depth=main,
        bank=record,
        unusable=is_unusable(record),
        narrow=narrow_notes(record),
        different=once.shape[0],
        unknown=unknown,
        queries=len(held.raw),
        targets=count,
        apart=(record.apart_from_targets or 0) >= ELSEWHERE,
        expected=expected,
        strength=None if strength is None else verdict_of_live(strength),
        FEW=FEW,
        ENOUGH=ENOUGH,
    )
    return Diagnosis(
        targets=count,
        dim=dim,
        metric=gallery.metric,
        held_out=len(held.raw),
        depths=depths,
        hubs=[
            Hub(named, int(raw[named.row]), int(corrected[named.row]), float(held.offsets[named.row]))
            for named in gallery.describe(np.argsort(-raw, kind="stable")[:top].tolist())
        ],
        never=gallery.describe(np.flatnonzero(raw == 0)[:top].tolist()),
        bank=record,
        auto=held.details,
        expected=expected,
        strength=strength,
        level=level,
        reciprocity=(mutual[0], mutual[1]),
        symptoms=symptoms,
        verdict=verdict.splitlines(),
        notes=notes,
        occurrences={"raw": raw, "corrected": corrected},
        offsets=held.offsets,
    )


def plot_occurrence(index: Collection) -> Chart:
    """Draw N_10 of an index, raw and corrected: how often held-out bank queries find each target.

    The counts are those of the fit, so this searches for nothing. Targets that were added since are left out. Raises
    `InputError` if the index has no counts.
    """
    stored = index.parts.occurrence()
    counts = np.empty((2, 0), np.int64) if stored is None else np.asarray(stored, np.int64)
    known = counts[:, (counts >= 0).all(axis=0)]
    if not known.size:
        raise InputError("index", "one that stores how often its targets are found", "no counts")
    return occurrence_chart({"raw": known[0], f"with {index.manifest.correction.name}": known[1]})


def check_labels(queries: Vectors | None, relevant: Labels | None) -> None:
    """Raise `InputError` for queries without labels, and labels without queries."""
    if (queries is None) != (relevant is None):
        given = "queries" if relevant is None else "relevant"
        raise InputError("labels", "both queries and relevant targets", f"only {given}")


def bank_of(gallery: Gallery, query_bank: Vectors | None) -> VectorSource:
    """Return a query bank, None being that within a collection's correction."""
    if query_bank is not None:
        return gallery.queries(query_bank, "query bank")
    state = {} if gallery.collection is None else gallery.collection.correction().state()
    if "bank" not in state:
        reason = "none is stored with it" if gallery.collection else "none"
        raise InputError("query bank", f"a query bank for {gallery.name}", reason)
    return ArrayVectors(state["bank"], "query bank")


def has_bank(gallery: Gallery) -> bool:
    """Return if a gallery is a collection that keeps the queries it was fitted on."""
    return gallery.collection is not None and "bank" in gallery.collection.correction().state()


def _why_unknown(bank: BankRecord) -> str | None:
    """Return why a bank does not tell what live queries gain; None if it does."""
    if bank.among_targets > MOST_TARGETS:
        return "The bank holds targets, so nothing here tells what live queries gain. Diagnose again with queries."
    if bank.repeated > MOST_OF_A_LOG:
        return (
            "In such a log the few things that people ask most decide what they gain, and it does not tell which "
            f"answers to these are right. {MEASURE_IT}"
        )
    if narrow_notes(bank):
        return f"A bank of one topic does not tell what other queries gain. {MEASURE_IT}"
    return None


def _level(depth: Depth, bank: int) -> str:
    level = level_of(depth.raw, depth.chance)
    uncertain = level == "none" and depth.raw.skewness - depth.chance.skewness >= CLEAR / 2
    return "unclear" if uncertain and bank < FEW else level


def _gain(found: Comparison) -> dict[str, Any] | None:
    rows = {row.label: row for row in found.rows}
    if "none" not in rows or "auto" not in rows or rows["auto"].change is None:
        return None
    before, after = (100 * rows[label].quality["recall_at_1"] for label in ("none", "auto"))
    interval, splits = rows["auto"].change.interval, len(found.seeds)
    how = f"on {splits} strict split{'s'[: splits > 1]}" if splits else "with this query bank"
    return {"how": how, "before": before, "after": after, "low": 100 * interval.low, "high": 100 * interval.high}
