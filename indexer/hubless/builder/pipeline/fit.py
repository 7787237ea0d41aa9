"""A version whose correction is fitted: vectors → correction → offsets → index → measurements."""

import logging
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.builder.banks.bank_review import warnings
from hubless.builder.banks.bank_split import split_bank
from hubless.builder.banks.default_strength import first_strength
from hubless.builder.indexing import ExactAnswers, IndexOrder
from hubless.builder.inputs.build_vectors import BuildVectors
from hubless.builder.inputs.target_table import TargetTable
from hubless.builder.pipeline.calibration import fitted_cut, judged_by
from hubless.builder.pipeline.click_choice import RAW, chosen_by_clicks
from hubless.builder.pipeline.held_back import naming_held_back
from hubless.builder.pipeline.manifests import new_manifest, provenance
from hubless.builder.pipeline.publishing import Workbench
from hubless.builder.pipeline.survey import (
    K_OCCURRENCE,
    MOST_RESCORED,
    CorrectedTargets,
    HubnessCounts,
    Survey,
    survey,
)
from hubless.builder.recipe import Recipe
from hubless.corrections import GIVEN, FittedCorrection
from hubless.corrections.banks.bank_checks import (
    MOST_TARGETS,
    WITHOUT_BANK,
    bank_sample,
    check_bank,
    hold_out,
    naming_held_out,
)
from hubless.corrections.banks.far_away import check_near
from hubless.corrections.banks.live_queries import MOST_LIVE, drawn
from hubless.corrections.fits import fit_each
from hubless.corrections.target_columns import NO_COLUMNS
from hubless.measures.bank_record import BankRecord
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.measures.labelled_pairs import LabelledPairs, hold_out_pairs
from hubless.measures.likeness import share_among
from hubless.progress import Silent, Steps
from hubless.search import canaries
from hubless.search.canaries import Canary
from hubless.search.parts import Parts
from hubless.search.ranker import Question, Ranker
from hubless.search.segments.targets import Targets
from hubless.store.bundle import (
    CorrectionRecord,
    DecidedStrength,
    IndexRecord,
    Measured,
    StrengthRecord,
    role_records,
)
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource, in_memory, sample

_log = logging.getLogger("hubless.banks")


@dataclass(frozen=True, kw_only=True)
class New:
    """A correction to be fitted on vectors, of a bank and of targets, and what else is known of it.

    `held` are the ids and the payload of the targets, then of those that have no vector.
    `strength`: that of the version, if something else decided it than what a fit knows.
    `judges`: labelled queries that say so instead.
    `hold_back`: offsets that stand alone are held back, as people who may be against others have put queries into the
    bank.
    """

    vectors: BuildVectors
    held: TargetTable
    bank_of_targets: bool = False
    strength: DecidedStrength | None = None
    judges: LabelledPairs | None = None
    hold_back: bool = False


def fit_version(new: New, bench: Workbench) -> Parts:
    """Check the banks, measure the correction, fit it on all of the bank, compute offsets and build the index.

    Hubness is measured with half of the bank, by a fit on others. That fit is then dropped: the offsets of the version
    are fitted on all of the bank. The logger `hubless.banks` warns of what is noticed. A part of the queries with
    labels is left out of the bank: these calibrate how sure answers are, and say whether the correction does harm.
    """
    vectors, held, strength = new.vectors, new.held, new.strength
    recipe = bench.recipe
    check_near(vectors.targets, recipe.metric)
    vectors = vectors.thinned(recipe.seed, fresh=strength is None)
    vectors, clicked = chosen_by_clicks(vectors, recipe)
    strength = strength if clicked is None else DecidedStrength(value=float(clicked.chosen != RAW), by="clicks")
    given = recipe.correction == GIVEN
    bank, pairs, record, notes = _bank(vectors, recipe, bank_of_targets=new.bank_of_targets)
    _check_live(vectors, recipe.metric)
    fitted = _fitted(vectors, bank, bench, hold_back=new.hold_back)
    placed, corrected = fitted.placed, fitted.corrected
    before = held.columns if clicked is None else NO_COLUMNS
    held = replace(held, columns=vectors.columns.kept(len(held.ids), before))
    stored = held.fill(placed.targets, placed.occurrence if vectors.bank_given else None)
    ranker = Ranker(stored, corrected.query_time)
    chosen = _strength(vectors.live_queries, ranker, bench.steps)
    by_lengths = None if given or recipe.correction == "none" else recipe.metric
    strength = strength or first_strength(chosen, vectors.targets, by_lengths)
    cut = None
    if vectors.bank_given:
        strength = judged_by(strength, ranker, new.judges or pairs, fitted.found)
        cut = fitted_cut(ranker, bank, pairs, strength.value, vectors.calibrated, bench.steps)
    notes = [*vectors.notes, *notes, *(_notes_of_given(vectors, recipe.metric) if given else [])]
    notes += [*fitted.notes, *warnings(chosen)]
    record, told = naming_held_back(record, held.ids.array, fitted.found.held)
    manifest = new_manifest(
        vectors.space,
        provenance=provenance(vectors.records, recipe.seed),
        correction=CorrectionRecord(
            name=recipe.correction, parameters=dict(recipe.parameters), details=corrected.correction.details
        ),
        index=placed.index,
        measured=placed.measured if vectors.bank_given else None,
        bank=record,
        strength=strength.value,
        decided=strength,
        strength_choice=None if chosen is None else StrengthRecord(**asdict(chosen)),
        clicks=clicked,
        notes=[*notes, *told],
        **role_records(vectors.columns),
    )
    return Parts(
        manifest=manifest,
        space=vectors.space,
        targets=stored,
        encoder=held.encoder,
        prepared=lambda: corrected.query_time,
        bank_sample=bank_sample(bank, recipe.seed) if vectors.bank_given else None,
        correction=lambda: corrected.correction,
        canary=lambda: placed.canary,
        cut=cut,
    )


def _bank(
    vectors: BuildVectors, recipe: Recipe, *, bank_of_targets: bool
) -> tuple[VectorSource, LabelledPairs | None, BankRecord | None, list[str]]:
    """Return the bank (b, d) to fit on, each query once, the labelled queries that stay out, and what checks say."""
    bank, pairs = vectors.bank.source, None
    if vectors.bank.relevant is not None:
        fits = recipe.correction != "none"
        bank, pairs = hold_out_pairs(bank, vectors.bank.relevant, fits, recipe.seed, recipe.metric)
    if not vectors.bank_given:
        return bank, pairs, None, [] if recipe.correction == GIVEN else [WITHOUT_BANK]
    checked = check_bank(bank, vectors.targets, recipe.metric, bank_of_targets=bank_of_targets, seed=recipe.seed)
    return checked.once, pairs, checked.record, checked.logged().notes


class _Fitted(NamedTuple):
    """Targets with the offsets of a fit, exact answers of queries of it, and indexes; `notes` are what fits say."""

    corrected: CorrectedTargets
    found: Survey
    placed: "PlacedTargets"
    notes: list[str]


def _fitted(vectors: BuildVectors, bank: VectorSource, bench: Workbench, *, hold_back: bool) -> _Fitted:
    """Fit the correction on a bank (b, d), and on a part of it, which the rest measures; place the targets."""
    recipe, steps, kept = bench.recipe, bench.steps, bench.checkpoints
    targets, columns = vectors.targets, vectors.columns
    split, (fitting, tuning) = split_bank(bank, recipe.seed), hold_out(bank, recipe.seed)
    banks = [split.others, bank]
    steps.step("fitting the correction")
    with naming_held_out(bank, split.others):
        measured, shipped = kept.fits(
            recipe.correction, banks, lambda: fit_each(recipe.method, banks, targets, vectors.target_bank, columns)
        )
    advance = steps.step("computing offsets", targets.shape[0])
    queries = [split.queries, tuning]
    found = survey(targets, [measured, shipped], queries, columns, kept, advance)
    if hold_back:
        found = found.held_back(targets, queries)
    steps.step("measuring hubness")
    without, corrected = (
        CorrectedTargets.by(fit, targets, h, told, alone)
        for fit, h, told, alone in zip((measured, shipped), found.offsets, (Silent(), steps), found.alone, strict=True)
    )
    hubness = replace(
        HubnessCounts.of(without, split.queries, found.found(0)),
        held_out=split.held_out,
        fitted_queries=split.others.shape[0],
    )
    placed = index_version(corrected, found.found(1)[1], hubness, fitting, tuning, bench)
    return _Fitted(corrected, found, placed, _notes(measured, shipped))


@dataclass(frozen=True)
class PlacedTargets:
    """Targets in their indexes, without ids, what the manifest says of these, and the canary queries."""

    targets: Targets
    index: IndexRecord
    measured: Measured | None
    canary: Canary
    occurrence: NDArray[np.uint16] | None


def index_version(
    corrected: CorrectedTargets,
    exact: I64,
    hubness: HubnessCounts,
    bank: VectorSource,
    tuning: F32,
    bench: Workbench,
) -> PlacedTargets:
    """Build the index of corrected targets, choose its search parameters and measure its recall.

    Recall compares the index with the `exact` answers (m, k) of a search with the offsets of the version, to queries
    `tuning` (m, d). The index has not seen these: it is trained on the targets, and its pivot comes from `bank`.
    """
    recipe = bench.recipe
    order = IndexOrder(
        targets=corrected.targets,
        offsets=corrected.offsets,
        bank=bank,
        answers=ExactAnswers(tuning, exact),
        index=recipe.index,
        aims=recipe.aims,
        seed=recipe.seed,
        shard_targets=recipe.shard_targets,
        metric=recipe.metric,
    )
    placed = bench.place(order)
    return PlacedTargets(
        placed.targets,
        placed.record(order),
        hubness.record(placed.setting.recall),
        canaries.ask(Ranker(placed.targets, corrected.query_time), tuning, exact),
        hubness.occurrence,
    )


def _check_live(vectors: BuildVectors, metric: str) -> None:
    if vectors.live_queries is None:
        return
    live = drawn(vectors.live_queries, vectors.targets, metric)
    if (known := share_among(live, vectors.bank.queries, metric)) > MOST_TARGETS:
        _log.warning(
            f"{100 * known:.0f} % of the live queries are in the query bank, too. The bank fits these, and that says "
            "nothing about others: give live queries that are not in the bank."
        )


def _strength(live_queries: VectorSource | None, ranker: Ranker, steps: Steps) -> ChosenStrength | None:
    if live_queries is None:
        return None
    steps.step("choosing the strength")
    queries = in_memory(sample(live_queries, MOST_LIVE))
    if ranker.is_slow:
        queries = queries[:MOST_RESCORED]
    k = min(K_OCCURRENCE, ranker.count)
    answers = np.stack([ranker.rank(Question(queries, strength), k).rows for strength in STRENGTHS])
    chosen = most_even(answers, ranker.count)
    for warning in warnings(chosen):
        _log.warning(warning)
    return chosen


def _notes_of_given(vectors: BuildVectors, metric: str) -> list[str]:
    """Return what is to be known of offsets that were given, and warn of some that cannot be meant so."""
    if (own := vectors.columns.number) is None:
        return []
    later = "targets that come later without an offset count as the median of those that were given"
    notes = [later if own.column is None else f"{later}, in payload column {own.column}"]
    apart = float(np.ptp(own.filled.values))
    if metric == "cosine" and apart > MOST_APART:
        notes.append(f"offsets differ by {apart:.3g}, similarities by 2 at most: offsets alone decide the ranking")
        _log.warning(notes[-1])
    return notes


def _notes(measured: FittedCorrection, shipped: FittedCorrection) -> list[str]:
    for fit, which in ((shipped, ""), (measured, "Measured without the held-out queries: ")):
        if note := fit.details.get("note"):
            said = f"{which}{note}."
            _log.warning(said)
            return [said]
    return []


MOST_APART = 2.0
"""Cosines lie no further apart."""
