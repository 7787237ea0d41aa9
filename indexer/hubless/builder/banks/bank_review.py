"""Verdicts on query banks: by their coverage, and by how evenly live queries are answered with them."""

from dataclasses import dataclass

import numpy as np

from hubless.builder.banks.thinning import live_bank
from hubless.corrections import Correction
from hubless.corrections.banks.bank_checks import (
    ENOUGH_TO_COMPARE,
    LOW_COVERAGE,
    MOST_TARGETS,
    UNUSABLE,
    check_bank,
    is_unusable,
)
from hubless.corrections.banks.live_queries import drawn, strength_by_offsets
from hubless.corrections.supported import asked_by
from hubless.errors import InputError
from hubless.measures.bank_record import BankRecord
from hubless.measures.evenness import ENOUGH, FEWEST, POOR, ChosenStrength, is_less_even
from hubless.measures.likeness import share_among
from hubless.search.parts import Parts
from hubless.store.query_sample import QuerySample
from hubless.vectors.arrays import F32
from hubless.vectors.sources import ArrayVectors, HeldVectors, VectorSource, in_memory


def warnings(chosen: ChosenStrength | None) -> list[str]:
    """Return the verdict, if it is that something is wrong."""
    if chosen is None or (chosen.strength == chosen.current and chosen.state != "too_few"):
        return []
    return [verdict(chosen)]


def verdict(chosen: ChosenStrength) -> str:
    """Return in sentences what live queries say about the bank."""
    asked = f"{chosen.different:,} different live {'query' if chosen.different == 1 else 'queries'}"
    if chosen.state == "too_few":
        return f"With {asked} no strength can be chosen. Give {FEWEST} at least, 200 are better."
    if chosen.strength == chosen.current:
        return (
            f"{asked} do not speak against the bank: strength {chosen.strength:g} spreads their answers most evenly "
            "over the targets. Where popular targets are right, that harms: clicks or labels tell."
        )
    how_well = "does not fit them" if chosen.strength <= POOR else "fits them only in part"
    return (
        f"{asked} say that the query bank {how_well}: their answers are spread most evenly over the targets at "
        f"strength {chosen.strength:g}. Make a bank of your own queries."
    )


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
    """Check a bank, and whether fresh live queries are answered more evenly with it than with the offsets `served`."""
    checked = check_bank(bank, targets, metric)
    record = checked.record
    against = _against(checked.record)
    chosen = None
    notes = [note for note in checked.notes if note not in against]
    if fresh is not None:
        live = drawn(fresh, targets, metric)
        if (known := share_among(live, bank, metric)) > MOST_TARGETS:
            raise InputError("live queries", "queries that are not in the bank", f"{100 * known:.0f} % that are")
        offsets = method.fit(checked.once, targets).offsets(targets)
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
        against.append(UNUSABLE)
    if record.coverage is not None and record.coverage < LOW_COVERAGE:
        against.append(f"The query bank covers only {100 * record.coverage:.0f} % of the targets.")
    if (different := record.distinct or record.queries) < ENOUGH_TO_COMPARE // 2:
        against.append(f"The query bank has only {different} queries: give it 100 at least.")
    return against


def _spoken_against(chosen: ChosenStrength, served: ChosenStrength | None) -> list[str]:
    if chosen.state == "too_few" or chosen.strength <= POOR:
        return [verdict(chosen)]
    if served is not None and is_less_even(chosen, served):
        return [
            "The version that is served spreads the answers to live queries more evenly: entropy "
            f"{max(served.entropy):.3f}, with this bank {max(chosen.entropy):.3f}."
        ]
    return []


def sampled_bank(parts: Parts, sample: QuerySample, method: Correction) -> tuple[F32, list[str]]:
    """Return a bank (b, d) of sampled queries, thinned, and the client of each.

    A third, about 200 at most, stays out of it, to review it: by clients that are not in the bank.
    """
    metric = parts.manifest.metric
    vectors = in_memory(parts.space.compared(HeldVectors(sample.vectors, "query sample")))
    made = live_bank(vectors, parts.targets, sample.clients, parts.manifest.provenance.seed)
    clients = [sample.clients[row] for row in made.rows.tolist()]
    bank = asked_by(vectors[made.rows], "query sample", clients)
    fresh = ArrayVectors(vectors[made.fresh], "query sample")
    served = parts.offsets if parts.is_folded else None
    found = review(bank, parts.targets, metric, method, fresh, served)
    if not found.good:
        raise InputError("sampled", "live queries that the correction suits", " ".join(found.against))
    queries: F32 = np.asarray(sample.vectors[made.rows], np.float32)
    return queries, clients
