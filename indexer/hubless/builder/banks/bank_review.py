"""A verdict on a query bank for the targets of a collection: looked at, and tried on fresh live queries."""

from dataclasses import dataclass

from hubless.builder.banks.bank_checks import (
    ENOUGH_TO_COMPARE,
    LOW_COVERAGE,
    MOST_TARGETS,
    check_bank,
    is_unusable,
)
from hubless.builder.banks.live_strength import POOR, drawn, refuse_targets, strength_by_offsets, verdict
from hubless.corrections import Correction
from hubless.errors import InputError
from hubless.measures.evenness import ENOUGH, FULL, STRENGTHS, ChosenStrength
from hubless.measures.likeness import share_among
from hubless.store.bundle import BankRecord
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class Review:
    """A verdict on a query bank. `chosen` is the strength that fresh live queries speak for; None without them."""

    good: bool
    against: list[str]
    notes: list[str]
    record: BankRecord
    chosen: ChosenStrength | None


def review(
    bank: VectorSource,
    targets: VectorSource,
    metric: str,
    method: Correction,
    fresh: VectorSource | None = None,
    served: F32 | None = None,
) -> Review:
    """Look at a query bank, and fit a correction with it to see what it does to fresh live queries.

    These speak against the bank if their answers are spread most evenly at strength ¼ or less; or if they are less even
    than with the offsets `served`, each at the strength that suits it best, by more than a standard error.
    """
    checked = check_bank(bank, targets, metric)
    record, against = checked.record, _against(checked.record)
    chosen = None
    notes = [note for note in checked.notes if note not in against]
    if fresh is not None:
        live = drawn(fresh)
        refuse_targets(live, targets)
        if (known := share_among(live, bank)) > MOST_TARGETS:
            raise InputError("live queries", "queries that are not in the bank", f"{known:.0%} that are")
        offsets = method.fit(bank, targets).offsets(targets)
        chosen = strength_by_offsets(live, targets, offsets)
        before = None if served is None else strength_by_offsets(live, targets, served)
        against += _spoken_against(chosen, before)
        if chosen.state != "too_few" and chosen.strength > POOR:
            notes.append(verdict(chosen))
        if chosen.state == "few":
            notes.append(f"{ENOUGH} different live queries would say it more surely.")
    return Review(not against, against, notes, record, chosen)


def _against(record: BankRecord) -> list[str]:
    against = []
    if is_unusable(record):
        against.append("The query bank has nothing to do with the targets: is it from the same model?")
    if record.coverage is not None and record.coverage < LOW_COVERAGE:
        against.append(f"The query bank covers only {record.coverage:.0%} of the targets.")
    if record.queries < ENOUGH_TO_COMPARE // 2:
        against.append(f"The query bank has only {record.queries} queries: give it 100 at least.")
    return against


def _spoken_against(chosen: ChosenStrength, served: ChosenStrength | None) -> list[str]:
    if chosen.state == "too_few" or chosen.strength <= POOR:
        return [verdict(chosen)]
    if served is not None and chosen.strength <= FULL:
        ours, theirs = max(chosen.entropy), max(served.entropy)
        raw = STRENGTHS.index(0.0)
        # how much chance moves the difference from the raw ranking stands for how much it moves this one
        if theirs - ours > max(chosen.error[raw], served.error[raw]):
            return [
                f"The version that is served spreads the answers to live queries more evenly: entropy {theirs:.3f}, "
                f"with this bank {ours:.3f}."
            ]
    return []
