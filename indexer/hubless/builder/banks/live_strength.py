"""The strength that suits live queries, which tell whether the query bank is like what people ask."""

import numpy as np

from hubless.builder.banks.bank_checks import MOST_TARGETS
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.measures.evenness import FEWEST, STRENGTHS, ChosenStrength, most_even
from hubless.measures.likeness import share_among
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource, in_memory, sample

POOR = 0.25
"""A strength of this or less says that the bank is no good."""
FOUND = 10
"""Answers of a live query that count."""
MOST_LIVE = 1000
"""Of more live queries so many are drawn at random: more of them choose no better."""


def drawn(live_queries: VectorSource) -> F32:
    """Return at most 1,000 of the live queries, drawn at random."""
    return in_memory(sample(live_queries, MOST_LIVE))


def refuse_targets(live: F32, targets: VectorSource, among: float | None = None) -> None:
    """Raise `InputError` if more than a tenth of the live queries are targets: each finds itself, as no query does."""
    if (share := share_among(live, targets) if among is None else among) > MOST_TARGETS:
        raise InputError("live queries", "queries that people asked", f"{share:.0%} targets")


def strength_by_offsets(live: F32, targets: VectorSource, offsets: F32) -> ChosenStrength:
    """Return the strength at which targets (n, d) with their offsets (n,) answer live queries (m, d) most evenly."""
    k = min(FOUND, len(offsets))
    found = rankings(live, targets, k, *(np.float32(strength) * offsets for strength in STRENGTHS))
    return most_even(np.stack([rows for _, rows in found]), len(offsets))


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
        return f"{asked} say that the query bank fits them: keep strength {chosen.strength:g}."
    how_well = "does not fit them" if chosen.strength <= POOR else "fits them only in part"
    return (
        f"{asked} say that the query bank {how_well}: their answers are spread most evenly over the targets at "
        f"strength {chosen.strength:g}. Make a bank of your own queries."
    )
