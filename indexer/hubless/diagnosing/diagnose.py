"""Hubness without labels: how uneven the finds of held-out bank queries are, and what `auto` does to it."""

from dataclasses import replace

import numpy as np

from hubless import measures
from hubless.builder.banks.bank_review import verdict as verdict_of_live
from hubless.builder.banks.default_strength import ENOUGH_LABELS
from hubless.corrections import Details, correction as correction_named
from hubless.corrections.banks.bank_checks import (
    UNUSABLE,
    CheckedBank,
    check_bank,
    is_of_targets,
    is_unusable,
    narrow_notes,
)
from hubless.corrections.banks.counts import counts_of
from hubless.corrections.banks.live_queries import drawn, strength_by_offsets
from hubless.corrections.folded.auto import EVEN
from hubless.diagnosing.corpus import Corpus, examine_corpus
from hubless.diagnosing.diagnosis import DEPTHS, MAIN, Depth, Diagnosis, Hub, Shape, level_of
from hubless.diagnosing.gallery import Examined, Gallery, as_gallery
from hubless.diagnosing.held_out import HeldOut, Outlook, held_out_rankings
from hubless.diagnosing.labelled_gain import labelled_gain
from hubless.diagnosing.symptoms import ELSEWHERE, find_symptoms
from hubless.errors import InputError, refuse_given
from hubless.measures.bank_record import BankRecord
from hubless.measures.chance import Chance
from hubless.measures.labels import Labels
from hubless.measures.occurrence import most_found
from hubless.measures.repeats import with_copies
from hubless.progress import Progressing, progress_bars
from hubless.search.pages import render
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import Metric
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import ArrayVectors, VectorSource

SHOWN = 10
FEW, ENOUGH = 100, 1000
"""Fewer bank queries than the first make offsets mostly noise; above the second, more bring little."""
CONSTANT = 1e-6
MOST_OF_A_LOG = 0.5
"""Share of the bank that repeats other queries, above which the bank does not tell what people gain."""


def diagnose(
    targets: Examined,
    query_bank: Vectors | None = None,
    *,
    metric: Metric | None = None,
    target_bank: Vectors | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    top: int = SHOWN,
    queries: Vectors | None = None,
    relevant: Labels | None = None,
    seed: int = 0,
    bank_of_targets: bool = False,
    live_queries: Vectors | None = None,
    progress: Progressing = None,
) -> Diagnosis | Corpus:
    """Measure hubness with bank queries that are held out from the fit of `auto`. Needs no labels.

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
    queries, relevant : labelled queries (m, d), 50 or more, and their right targets (docs/cli.md, "Labels"), to measure
        what `auto` gains; without a query bank these queries are the bank
    seed : of what is sampled and held out
    bank_of_targets : take a query bank that holds targets; that of an index is taken always
    live_queries : (m, d) queries that people asked, without labels: they say whether the bank is like them
    """
    gallery = as_gallery(targets, metric, ids, payload)
    check_labels(queries, relevant)
    if query_bank is None and queries is None and not has_bank(gallery):
        beside = {"target_bank": target_bank, "live_queries": live_queries}
        refuse_given(beside, "none without a query bank, beside which it is looked at")
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
    count = gallery.targets.shape[0]
    with progress_bars(progress) as steps:
        advance = steps.step("holding out half of the bank", count)
        k = min(max(DEPTHS), count)
        held = held_out_rankings(auto, checked.once, gallery.targets, k, target_bank=extra, seed=seed, advance=advance)
    found = _examined(gallery, bank, checked, held, live, top, seed)
    if queries is not None:
        labels = gallery.queries(queries, "queries"), gallery.right(queries, relevant)
        gain = labelled_gain(auto, *labels, gallery.targets, bank, gallery.metric, extra)
        found = replace(found, gain=gain)
    return replace(found, verdict=_verdict(found, checked.once.shape[0], queries is not None))


def _examined(
    gallery: Gallery,
    bank: VectorSource,
    checked: CheckedBank,
    held: HeldOut,
    live: F32 | None,
    top: int,
    seed: int,
) -> Diagnosis:
    """Return the measures of held-out rankings of the targets, and of the bank; without a verdict."""
    count = gallery.targets.shape[0]
    both = (held.raw, held.corrected)
    record = checked.record
    counts = {k: [measures.k_occurrence(rows[:, :k], count) for rows in both] for k in DEPTHS if k <= count}
    depths = [
        Depth(k, Shape.of(one), Shape.of(other), Chance.of(len(held.raw), count, k))
        for k, (one, other) in counts.items()
    ]
    main = depths[MAIN][-1]
    raw, corrected = counts[main.k]
    symptoms = find_symptoms(bank, gallery.targets, gallery.metric, record, raw, live, seed)
    in_verdict = [UNUSABLE, *narrow_notes(record)]
    notes = [note.rstrip(".") for note in checked.notes if note not in in_verdict]
    if np.ptp(held.similarities, axis=1).max() < CONSTANT:
        notes.append("every query is equally similar to the targets that it finds: there is nothing to rank by")
    notes += [each.sentence.rstrip(".") for each in symptoms if each.name == "missing-prefix"]
    before, after = (measures.reciprocity(held.queries, gallery.targets.take(rows[:, 0])) for rows in both)
    return Diagnosis(
        targets=count,
        dim=gallery.dim,
        metric=gallery.metric,
        held_out=len(held.raw),
        depths=depths,
        hubs=[
            Hub(named, int(raw[named.row]), int(corrected[named.row]), float(held.offsets[named.row]))
            for named in gallery.describe(most_found(raw, top).tolist())
        ],
        never=gallery.describe(np.flatnonzero(raw == 0)[:top].tolist()),
        bank=record,
        auto=held.details,
        outlook="unknown" if _why_unknown(record, held.details, held.outlook) else held.outlook,
        changed=held.changed,
        given_up=held.given_up,
        strength=None if live is None else strength_by_offsets(live, gallery.targets, held.offsets),
        gain=None,
        level=_level(main, checked.once.shape[0]),
        reciprocity=(before, after),
        symptoms=symptoms,
        verdict=[],
        notes=notes,
        occurrences={"raw": raw, "corrected": corrected},
        offsets=held.offsets,
    )


def _verdict(found: Diagnosis, different: int, labels: bool) -> list[str]:
    """Sum up a diagnosis. `different` are the bank queries without copies; `labels`: whether there are some."""
    verdict = render(
        "verdict.txt",
        found=found,
        labels=labels,
        unusable=is_unusable(found.bank),
        narrow=narrow_notes(found.bank),
        different=different,
        unknown=_why_unknown(found.bank, found.auto, found.outlook),
        apart=(found.bank.apart_from_targets or 0) >= ELSEWHERE,
        strength=None if found.strength is None else verdict_of_live(found.strength),
        FEW=FEW,
        ENOUGH=ENOUGH,
        ENOUGH_LABELS=ENOUGH_LABELS,
    )
    return verdict.splitlines()


def check_labels(queries: Vectors | None, relevant: Labels | None) -> None:
    """Raise `InputError` for queries without labels, and labels without queries."""
    if (queries is None) != (relevant is None):
        given = "queries" if relevant is None else "relevant"
        raise InputError("labels", "both queries and relevant targets", f"only {given}")


def bank_of(gallery: Gallery, query_bank: Vectors | None) -> VectorSource:
    """Return a query bank, None being that within a collection's correction, with how often each query was asked.

    Raises `InputError` if there is none.
    """
    if query_bank is not None:
        items = as_items(query_bank, "query bank")
        return with_copies(gallery.queries(items.vectors, "query bank"), counts_of(items))
    if (kept := _kept_bank(gallery)) is None:
        reason = "none is stored with it" if gallery.collection else "none"
        raise InputError("query bank", f"a query bank for {gallery.name}", reason)
    return ArrayVectors(kept, "query bank")


def has_bank(gallery: Gallery) -> bool:
    """Return if a gallery is a collection that keeps the queries it was fitted on."""
    return _kept_bank(gallery) is not None


def _kept_bank(gallery: Gallery) -> F32 | None:
    return None if gallery.collection is None else gallery.collection.correction().state().get("bank")


def _why_unknown(bank: BankRecord, auto: Details, outlook: Outlook) -> str | None:
    """Return why a bank does not tell what live queries gain; None if it may. Severe hubs make any bank look narrow."""
    if is_unusable(bank):
        return UNUSABLE
    if is_of_targets(bank):
        return "The bank holds targets, so nothing here tells what live queries gain. Diagnose again with queries."
    if bank.repeated > MOST_OF_A_LOG or auto.get("unevenness", 1) >= EVEN:
        return "In a log the few things that people ask most decide what they gain."
    if outlook != "much" and narrow_notes(bank):
        return "A bank of one topic does not tell what other queries gain."
    return None


def _level(depth: Depth, bank: int) -> str:
    level = level_of(depth.raw, depth.chance)
    return "unclear" if level == "none" and bank < FEW else level
