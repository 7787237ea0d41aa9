"""The default strength of a version: who decides it, and what labels say of it.

Whoever knows something makes a `DecidedStrength` with a reason. Labels come last: if those of queries that are not in
the bank say that corrected answers are worse, the version is served raw. Measured: benchmarks/label_gate.py.
"""

import logging
from collections.abc import Callable

import numpy as np

from hubless.errors import advice
from hubless.measures.evenness import FULL_STRENGTH, POOR, ChosenStrength
from hubless.measures.labelled_pairs import FEWEST_PAIRS
from hubless.measures.significance import mcnemar, paired_difference
from hubless.store.bundle import DecidedStrength, LabelsRecord, Manifest, SaidByLabels
from hubless.vectors.arrays import F32, F64, Flags
from hubless.vectors.sources import VectorSource, in_memory, sample

HARM = 0.1
"""Labels say harm if so many losses are less likely than this where nothing changes: a one-sided sign test, at half of
the two-sided p-value."""
ENOUGH_LABELS = 50
"""So many labelled queries notice most of what recommenders lose; 100 nearly all."""
WITH_LENGTHS = 0.25
"""Strength under metric dot if lengths differ: those of recommenders say what is popular."""
UNEQUAL = 0.25
"""Standard deviation of lengths over their mean: 0.4 of a recommender, below it those of most models of texts."""
MOST_LENGTHS = 2048
MOST_CHANGED, MOST_GIVEN_UP = 0.5, 1.0
"""Where more first answers change, and give up more spreads of similarity, `auto` won 34 points, and lost 17."""

_log = logging.getLogger("hubless.banks")


def first_strength(chosen: ChosenStrength | None, targets: VectorSource, metric: str | None) -> DecidedStrength:
    """Return the strength that live queries chose; without these 1. It is ¼ at most if lengths may say what is popular.

    Live queries do not see popularity: for ten recommenders under dot they chose 1, which lost up to 5.5 points.
    No metric: the offsets are given, and lengths say nothing of them.
    """
    by_lengths = metric == "dot" and are_unequal(lengths_of(targets))
    if chosen is not None and chosen.state != "too_few" and not (by_lengths and chosen.strength > WITH_LENGTHS):
        return DecidedStrength(value=chosen.strength, by="live queries")
    if by_lengths:
        return DecidedStrength(value=WITH_LENGTHS, by="lengths")
    return DecidedStrength(value=FULL_STRENGTH)


def unlabelled_strength(made: Manifest) -> DecidedStrength:
    """Return the strength of a version before labels spoke. An older one was given if it is neither chosen nor 1."""
    known = made.decided
    if known is None:
        given = made.strength_choice is None and made.strength != FULL_STRENGTH
        return DecidedStrength(value=made.strength, by="given" if given else "default")
    if known.by == "labels" and known.labels is not None:
        by_lengths = known.labels.strength == WITH_LENGTHS
        return DecidedStrength(value=known.labels.strength, by="lengths" if by_lengths else "default")
    return DecidedStrength(value=known.value, by=known.by)


def lasting_strength(before: Manifest, *, labelled: bool) -> DecidedStrength | None:
    """Return the strength that a new fit takes over from the version before; None if it is to be decided anew."""
    if (first := unlabelled_strength(before)).by in {"given", "clicks"}:
        return first
    known = before.decided
    return known if known is not None and known.by == "labels" and not labelled else None


def noted(found: DecidedStrength, note: str, level: int = logging.WARNING) -> DecidedStrength:
    """Return a strength with a note more, and log that."""
    _log.log(level, note)
    return found.model_copy(update={"notes": (*found.notes, note)})


def said_by_labels(before: Flags, after: Flags) -> SaidByLabels:
    """Return what labelled queries say, by whether their first answer is right (m,), raw and corrected."""
    if len(before) < FEWEST_PAIRS:
        return "too few"
    test = mcnemar(before, after)
    return "harm" if test.only_first > test.only_second and test.p_value < 2 * HARM else "no harm"


def judged(found: DecidedStrength, right: Callable[[float], Flags]) -> DecidedStrength:
    """Return the strength after labels have spoken. `right` says which first answers (m,) are right at a strength.

    None of the queries may be in the bank. Full strength follows on that of `lengths` only if it is better by the same
    test, and either stays only if it is better than none. A strength that is given stays, with a warning.
    """
    raw = right(0.0)
    by_lengths = found.by == "lengths"
    if by_lengths and said_by_labels(right(FULL_STRENGTH), right(found.value)) == "harm":
        found = DecidedStrength(value=FULL_STRENGTH, by="labels")
    after = right(found.value)
    interval = paired_difference(raw, after).interval
    record = LabelsRecord(
        said=said_by_labels(raw, after),
        queries=len(raw),
        strength=found.value,
        raw=float(raw.mean()),
        corrected=float(after.mean()),
        low=interval.low,
        high=interval.high,
    )
    found = found.model_copy(update={"labels": record})
    doubted = by_lengths and record.said == "no harm" and said_by_labels(after, raw) != "harm"
    if record.said != "harm" and not doubted:
        return found
    what = "do not say that the correction helps" if doubted else "say that the correction does harm"
    said = (
        f"{record.queries:,} labelled queries {what}: first answers are right in "
        f"{100 * record.raw:.1f} % raw, and in {100 * record.corrected:.1f} % with strength {found.value:g}."
    )
    if found.by == "given":
        return noted(found, f"{said} The strength stays, as you set it.")
    said += " The version is served raw, with strength 0, and so are later fits without labels. Clicks, a target prior "
    said += "or a bank of other queries may change that."
    said += advice(" To correct all the same: `{}`.", "strength", f"{found.value:g}")
    return noted(found.model_copy(update={"value": 0.0, "by": "labels"}), said)


def upheaval(raw: F32, moved: Flags, firsts: F32) -> tuple[float, float]:
    """Return the share of queries whose first answer has `moved` (m,), and the mean similarity that this gives up.

    In standard deviations of ranks 2 to 11; none for a query whose are all equally similar. `raw` (m, k) are the best
    similarities, `firsts` (m,) those of the corrected first answers.
    """
    spread = raw[:, min(1, raw.shape[1] - 1) : 11].std(axis=1)
    lost = np.divide(raw[:, 0] - firsts, spread, where=spread > 0, out=np.zeros_like(spread))
    return float(moved.mean()), float(lost.mean())


def asking(found: DecidedStrength, changed: float, given_up: float) -> DecidedStrength:
    """Return a strength with a note that nobody judged it, which warns if an upheaval is so large that labels decide.

    Nothing is said where little or nothing is corrected, or clicks or labels decided.
    """
    if found.by == "lengths":
        note = f"The targets differ in length, which may say what is popular: the strength is {found.value:g}. "
        return noted(found, note + _asked("say whether more or none is better"))
    if not changed or found.value <= POOR or found.by in {"clicks", "labels"}:
        return found
    if said := question(changed, given_up):
        return noted(found, said)
    unjudged = f"Nobody has judged the correction, which harms where popular targets are right. {_asked('tell')}"
    return noted(found, unjudged, logging.INFO)


def question(changed: float, given_up: float) -> str | None:
    """Return a sentence that asks for labels, where an upheaval is so large that they decide; else None."""
    if changed < MOST_CHANGED or given_up < MOST_GIVEN_UP:
        return None
    return (
        f"{100 * changed:.0f} % of the first answers change, to much less similar ones: that mends hubs, or hides what "
        f"is popular. {_asked('tell which')}"
    )


def _asked(why: str) -> str:
    return f"{ENOUGH_LABELS} labelled queries{advice(' (`{}`)', 'relevant')} would {why}."


def lengths_of(targets: VectorSource) -> F64:
    """Return the lengths of a sample of targets."""
    rows = in_memory(sample(targets, MOST_LENGTHS)).astype(np.float64)
    lengths: F64 = np.sqrt(np.vecdot(rows, rows))
    return lengths


def are_unequal(lengths: F64) -> bool:
    """Return whether lengths differ so much that they may mean something."""
    return bool(lengths.std() > UNEQUAL * lengths.mean())
