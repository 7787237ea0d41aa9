"""Is hubness hurting, without labels: how uneven the finds of held-out bank queries are, and what `auto` does to it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hubless import measures
from hubless.builder.banks.bank_checks import MOST_TARGETS, UNUSABLE, check_bank, is_unusable, narrow_notes
from hubless.builder.banks.live_strength import drawn, refuse_targets, strength_by_offsets
from hubless.builder.banks.live_strength import verdict as verdict_of_live
from hubless.corrections import CORRECTIONS, Correction
from hubless.corrections.temperature import resolve_temperature
from hubless.errors import InputError
from hubless.lab.cross_fit import HeldOut, held_out_rankings
from hubless.lab.diagnosis import MAIN_DEPTH, Bank, Depth, Diagnosis, Effective, Hub, Shape
from hubless.lab.expected import ExpectedGain, expected_gain, signs
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparison import Comparison
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.gallery import Gallery
from hubless.lab.matrices import BANK, OpenMatrices, SimilarityMatrices
from hubless.lab.vectorless import AUTO_NOTE, Vectorless
from hubless.measures.chance import Chance
from hubless.progress import progress_bars
from hubless.store.bundle import BankRecord
from hubless.vectors.arrays import F32, F64
from hubless.vectors.files import Vectors
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample

DEPTHS = (1, 10, 20)
SHOWN = 10
SAMPLED_TARGETS = 2048
MOVED_POINTS = 1000
"""Earth mover's distances are measured on so many vectors of a side."""
FEW, ENOUGH = 100, 1000
"""Fewer bank queries than the first make offsets mostly noise; above the second, more bring little."""
FAR = 1.25
CLEAR, SEVERE = 1.4, 4.0
"""Levels of skewness beyond that of chance."""
HIDDEN = 0.1
"""Share of the targets never found, beyond that of chance, from which on there is hubness."""
CONSTANT = 1e-6
SPLITS = 5


def diagnose(
    gallery: Gallery,
    query_bank: Vectors | None = None,
    *,
    target_bank: Vectors | None = None,
    top: int = SHOWN,
    queries: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    measured: Comparison | None = None,
    seed: int = 0,
    bank_of_targets: bool = False,
    live_queries: Vectors | None = None,
    progress: bool | None = None,
) -> Diagnosis:
    """Measure hubness with bank queries that are held out from the fit of `auto`, in turn.

    Parameters
    ----------
    gallery : what can be found
    query_bank : (b, d) example queries; None takes those that a collection's correction was fitted on
    target_bank : (g, d) extra targets
    top : how many hubs to name
    queries, relevant : labelled queries (m, d) and their right targets, to measure what `auto` gains; without a query
        bank these queries are the bank
    measured : instead of labels, a comparison of `none` and `auto` on them that was made already
    bank_of_targets : take a query bank that holds targets; that of a collection is taken always
    live_queries : (m, d) queries that people asked, without labels: they say whether the bank is like them

    Raises
    ------
    InputError
        if inputs do not fit each other, the bank has fewer than 10 queries, or more than a tenth of it are targets.
    """
    if gallery.matrices is None and (queries is None) != (relevant is None):
        given = "queries" if relevant is None else "relevant"
        raise InputError("labels", "both queries and relevant targets", f"only {given}")
    live = None if live_queries is None else live_vectors(live_queries, gallery)
    if query_bank is None and gallery.collection is None:
        query_bank = queries
    auto: Correction = CORRECTIONS["auto"]()
    if gallery.matrices is not None:
        bank, extra = known_by_similarity(gallery.matrices)
        auto, notes_of_bank, record = Vectorless(auto), [AUTO_NOTE], None
    else:
        bank = stored_bank(gallery) if query_bank is None else gallery.queries(query_bank, "query bank")
        extra = None if target_bank is None else gallery.queries(target_bank, "target bank")
        told = bank_of_targets or query_bank is None
        checked = check_bank(bank, gallery.targets, gallery.metric, bank_of_targets=told, seed=seed)
        record, in_verdict = checked.record, [UNUSABLE, *narrow_notes(checked.record)]
        notes_of_bank = [note.rstrip(".") for note in checked.notes if note not in in_verdict]
    count, dim = gallery.targets.shape
    with progress_bars(progress) as steps:
        advance = steps.step("holding out bank queries in turn", 5)
        held = held_out_rankings(
            auto, bank, gallery.targets, min(max(DEPTHS), count), target_bank=extra, seed=seed, advance=advance
        )
        steps.step("examining the bank")
        examined, notes = _examine(bank, gallery, held, record, seed)
    notes = [*notes_of_bank, *notes]
    depths = [_depth(held, k, count) for k in DEPTHS if k <= count]
    k = min(MAIN_DEPTH, count)
    main = next((depth for depth in depths if depth.k == k), depths[-1])
    raw, corrected = (measures.k_occurrence(rows[:, : main.k], count) for rows in (held.raw, held.corrected))
    hubs = np.argsort(-raw, kind="stable")[:top]
    never = np.flatnonzero(raw == 0)[:top]
    constant = np.ptp(held.similarities, axis=1).max() < CONSTANT
    if constant:
        notes.append("every query is equally similar to the targets that it finds: there is nothing to rank by")
    if examined.repeated:
        notes.append(f"{examined.repeated:,} of the bank queries repeat others, and so count more than once")
    level = _level(main, examined.queries)
    if measured is None and relevant is not None:
        measured = _measure(gallery, queries, relevant)
    gain = [] if measured is None else _measured_gain(measured)
    strength = None if live is None else strength_by_offsets(live, gallery.targets, held.offsets)
    expected = None if examined.among_targets > MOST_TARGETS else expected_gain(signs(held, count))
    return Diagnosis(
        targets=count,
        dim=0 if gallery.matrices is not None else dim,
        metric=gallery.metric,
        held_out=len(held.raw),
        depths=depths,
        hubs=[
            Hub(named, int(raw[named.row]), int(corrected[named.row]), float(held.offsets[named.row]))
            for named in gallery.describe(hubs.tolist())
        ],
        never=gallery.describe(never.tolist()),
        bank=examined,
        auto=held.details,
        expected=expected,
        strength=strength,
        level=level,
        verdict=[
            *gain,  # what labels say comes first, as the bank alone can look worse than it is
            *([_UNUSABLE] if examined.unusable else []),
            *([] if examined.unusable else _verdict(level, main, examined, len(held.raw), count)),
            *([] if gain or examined.unusable else _prospect(level, examined, expected)),
            *([] if strength is None else [verdict_of_live(strength)]),
        ],
        notes=notes,
        occurrences={"raw": raw, "corrected": corrected},
        offsets=held.offsets,
    )


def live_vectors(live_queries: Vectors, gallery: Gallery) -> F32:
    """At most 1,000 live queries (m, d), as they are compared with a gallery.

    Raises
    ------
    InputError
        if they are targets, or the gallery has similarities in place of vectors.
    """
    if gallery.matrices is not None:
        raise InputError("live queries", "none beside similarities, as they have to be ranked", "some")
    live = drawn(gallery.queries(live_queries, "live queries"))
    refuse_targets(live, gallery.targets)
    return live


def stored_bank(gallery: Gallery) -> VectorSource:
    """The query bank within a collection's correction.

    Raises
    ------
    InputError
        if there is no collection, or its correction keeps no bank.
    """
    state = {} if gallery.collection is None else gallery.collection.correction().state()
    if "bank" not in state:
        reason = "none is stored with it" if gallery.collection else "none"
        raise InputError("query bank", f"a query bank for {gallery.name}", reason)
    return ArrayVectors(state["bank"], "query bank")


def _depth(held: HeldOut, k: int, targets: int) -> Depth:
    raw, corrected = (Shape.of(measures.k_occurrence(rows[:, :k], targets)) for rows in (held.raw, held.corrected))
    return Depth(k, raw, corrected, Chance.of(len(held.raw), targets, k))


def known_by_similarity(matrices: OpenMatrices) -> tuple[VectorSource, VectorSource | None]:
    """Query bank and target bank, made of similarities.

    Raises
    ------
    InputError
        if there are neither bank queries nor queries.
    """
    bank, extra = matrices.bank_vectors(), matrices.target_bank_vectors()
    if bank is None:
        bank = matrices.queries
    if bank is None:
        raise InputError(BANK, "a matrix, bank queries × targets", "none")
    return ArrayVectors(bank, BANK), None if extra is None else ArrayVectors(extra, "target bank")


def _examine(
    bank: VectorSource, gallery: Gallery, held: HeldOut, record: BankRecord | None, seed: int
) -> tuple[Bank, list[str]]:
    targets = gallery.targets
    queries = in_memory(bank)
    distinct = len({row.tobytes() for row in queries})
    sampled = in_memory(sample(targets, SAMPLED_TARGETS, seed))
    similarities = sampled @ queries.T
    temperature = resolve_temperature("auto", None, bank, targets).value
    effective = np.exp(_entropies(similarities, float(held.details.get("temperature", temperature))))
    distance, own, notes = None, None, ["no distance between bank and targets: it needs vectors"]
    if gallery.matrices is None:
        distance, own, notes = _distances(bank, targets, seed)
    return (
        Bank(
            queries=len(queries),
            repeated=len(queries) - distinct,
            among_targets=0.0 if record is None else record.among_targets,
            effective=Effective(
                float(held.details.get("temperature", temperature)),
                float(effective.mean()),
                float(np.quantile(effective, 0.05)),
                float(np.median(effective)),
            ),
            coverage=None if record is None else record.coverage,
            narrow=[] if record is None else narrow_notes(record),
            unusable=record is not None and is_unusable(record),
            distance=distance,
            own_distance=own,
        ),
        notes,
    )


def _entropies(similarities: F32, temperature: float) -> F64:
    """Entropy, in nats, of the softmax of each row."""
    entropies = np.empty(len(similarities))
    for row, line in enumerate(similarities):
        exponents = (line - line.max()).astype(np.float64) / temperature
        weights = np.exp(exponents)
        entropies[row] = np.log(weights.sum()) - weights @ exponents / weights.sum()
    return entropies


def _distances(bank: VectorSource, targets: VectorSource, seed: int) -> tuple[float | None, float | None, list[str]]:
    shuffled = in_memory(bank)[np.random.default_rng(seed).permutation(bank.shape[0])]
    half = len(shuffled) // 2
    try:
        own = measures.earth_movers_distance(shuffled[:half], shuffled[half:], most=MOVED_POINTS, seed=seed)
        # as many vectors as in a half, because the distance between samples falls with their size
        points = min(half, MOVED_POINTS)
        across = measures.earth_movers_distance(bank, targets, most=points, seed=seed)
    except InputError as error:
        if error.parameter != "earth mover's distance":
            raise
        return None, None, [f"no distance between bank and targets: it needs {error.expected}"]
    return across.value, own.value, []


def _level(depth: Depth, bank: int) -> str:
    beyond = depth.raw.skewness - depth.chance.skewness
    even = depth.raw.most <= 2 * depth.chance.most
    hidden = depth.raw.antihubs - depth.chance.antihubs > HIDDEN
    if (beyond < CLEAR / 2 or even) and not hidden:
        return "unclear" if bank < FEW and beyond >= CLEAR / 2 else "none"
    return "mild" if beyond < CLEAR else "clear" if beyond < SEVERE else "severe"


_UNUSABLE = (
    "The query bank is unusable: its queries are no nearer to targets than random vectors are, as if another model had "
    "made them. Encode the queries with the model of the targets, and diagnose again. The numbers below say nothing of "
    "your search."
)
_FINDING = {
    "unclear": "There are too few queries to tell whether there are hubs",
    "none": "There are no hubs to speak of, finds are spread about as chance would spread them",
    "mild": "There is mild hubness",
    "clear": "There is clear hubness",
    "severe": "Hubness is severe",
}


def _verdict(level: str, depth: Depth, bank: Bank, queries: int, targets: int) -> list[str]:
    """What it all means, in sentences."""
    raw, corrected, chance = depth.raw, depth.corrected, depth.chance
    said = [
        f"{_FINDING[level]}: of {queries:,} held-out queries, {raw.most:,} find the same target among their first "
        f"{depth.k} (chance alone would give {chance.most:,}), and {raw.antihubs:.1%} of the {targets:,} targets are "
        f"never found (chance: {chance.antihubs:.1%}). Skewness of N_{depth.k} is {raw.skewness:.1f} "
        f"(chance: {chance.skewness:.1f})."
    ]
    if level == "none":
        done = "has little to even out"
    elif corrected.skewness < raw.skewness - 0.1 * abs(raw.skewness) and corrected.antihubs <= raw.antihubs:
        done = "evens it out"
    else:
        done = "changes little"
    said.append(
        f"`auto` {done}: the most found target goes to {corrected.most:,} queries, skewness to "
        f"{corrected.skewness:.1f}, and those never found to {corrected.antihubs:.1%}."
    )
    return said + list(_about_bank(bank))


def _prospect(level: str, bank: Bank, expected: ExpectedGain | None) -> list[str]:
    """What gain to expect without labels, in sentences. None of them advises against `auto`."""
    if expected is None:
        return ["The bank holds targets, so nothing here tells what live queries gain. Diagnose again with queries."]
    said = []
    if level == "none" and bank.queries < FEW:
        said.append("Few queries can miss hubs: diagnose again with more, before you go by this.")
    elif level == "unclear":
        said.append(f"Diagnose again with {FEW} queries or more.")
    elif level == "none":
        said.append("Hubs are not the main problem of this search. Keep `auto` all the same.")
    said.append(
        f"Expect `auto` to change R@1 by about {expected.points:+.1f} points if live queries are like the bank. For 9 "
        f"of 10 banks that look like this the change is between {expected.low:+.1f} and {expected.high:+.1f}. That is "
        "wide, as only labels show what is right. Give them too (`--set queries=FILE` and `relevant=FILE`), and the "
        "gain is measured."
    )
    return said


def _measure(gallery: Gallery, queries: Vectors | None, relevant: str | Path | Relevant) -> Comparison:
    """None and `auto` by the strict protocol."""
    entries = [Method("none"), Method("auto")]
    given = queries if gallery.matrices is None else SimilarityMatrices(gallery.matrices.queries)
    if given is None:
        raise InputError("labels", "both queries and relevant targets", "only relevant")
    targets = gallery.targets if gallery.matrices is None else None
    return compare(given, targets, relevant, entries, metric=gallery.metric, seeds=SPLITS, progress=False)


def _measured_gain(found: Comparison) -> list[str]:
    """What `auto` does to R@1, in a sentence."""
    rows = {row.label: row for row in found.rows}
    change = rows["auto"].change if "auto" in rows else None
    if change is None or "none" not in rows:
        return []
    before, after = (100 * rows[label].quality["recall_at_1"] for label in ("none", "auto"))
    low, high = 100 * change.interval.low, 100 * change.interval.high
    meaning = "a real gain" if low > 0 else "a real loss: use `none`" if high < 0 else "which may be chance"
    how = f"on {_counted(len(found.seeds), 'strict split')}" if found.seeds else "with this query bank"
    return [
        f"Measured with your labels, {how}: `auto` takes R@1 from {before:.1f} to {after:.1f} %, "
        f"{after - before:+.1f} points [{low:+.1f}, {high:+.1f}], {meaning}."
    ]


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _about_bank(bank: Bank) -> Sequence[str]:
    said = []
    if bank.queries < FEW:
        said.append(f"The query bank of {bank.queries} is too small to trust: {ENOUGH:,} or more are better.")
    elif bank.queries < ENOUGH:
        said.append(f"The query bank of {bank.queries} is small: {ENOUGH:,} or more are better.")
    else:
        said.append(f"The query bank of {bank.queries:,} is large enough.")
    said += bank.narrow
    if bank.distance is not None and bank.own_distance is not None and bank.distance > FAR * bank.own_distance:
        said.append(
            f"Bank and targets lie apart (earth mover's distance {bank.distance:.2f}, within the bank "
            f"{bank.own_distance:.2f}), as texts and images do. Where both are of one kind, see whether the bank is "
            "like the live queries."
        )
    return said
