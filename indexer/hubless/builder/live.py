"""The strength that live queries speak for: they tell whether the query bank is like what people ask."""

import logging

import numpy as np

from hubless.builder.bank_checks import MOST_TARGETS
from hubless.builder.making import Made
from hubless.builder.measuring import K_OCCURRENCE, MOST_RESCORED
from hubless.builder.reading import Compared, drawn
from hubless.corrections import Gate
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.measures.evenness import FEWEST, STRENGTHS, ChosenStrength, most_even
from hubless.measures.likeness import share_among
from hubless.progress import Steps
from hubless.search.ranker import Ranker
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource

POOR = 0.25
"""A strength of this or less says that the bank is no good."""

log = logging.getLogger("hubless.banks")


def check_live(vectors: Compared) -> None:
    """Look at the live queries of a build before the long work.

    Raises
    ------
    InputError
        if more than a tenth of them are targets.
    """
    if vectors.live_queries is None:
        return
    live = drawn(vectors.live_queries)
    if vectors.live_among_targets is None:
        refuse_targets(live, vectors.targets)
    else:
        _refuse(vectors.live_among_targets)
    if (known := share_among(live, vectors.query_bank)) > MOST_TARGETS:
        log.warning(
            f"{known:.0%} of the live queries are in the query bank, too. The bank fits these, and that says nothing "
            "about others: give live queries that are not in the bank."
        )


def refuse_targets(live: F32, targets: VectorSource) -> None:
    """Raise `InputError` if more than a tenth of the live queries are targets: each finds itself, as no query does."""
    _refuse(share_among(live, targets))


def _refuse(among: float) -> None:
    if among > MOST_TARGETS:
        raise InputError("live queries", "queries that people asked", f"{among:.0%} targets")


def chosen_strength(live_queries: VectorSource | None, made: Made, steps: Steps) -> ChosenStrength | None:
    """The strength at which a version answers live queries most evenly; None without such queries."""
    if live_queries is None:
        return None
    steps.step("choosing the strength")
    ranker = Ranker(made.targets, made.offsets, made.query_time)
    queries = drawn(live_queries)
    if ranker.query_time is not None and not isinstance(ranker.query_time, Gate):
        queries = queries[:MOST_RESCORED]
    k = min(K_OCCURRENCE, len(made.offsets))
    answers = np.stack([ranker.rank(queries, k, strength, {}).rows for strength in STRENGTHS])
    chosen = most_even(answers, len(made.offsets))
    for warning in warnings(chosen):
        log.warning(warning)
    return chosen


def strength_by_offsets(live: F32, targets: VectorSource, offsets: F32) -> ChosenStrength:
    """The strength at which targets (n, d) with their offsets (n,) answer live queries (m, d) most evenly."""
    k = min(K_OCCURRENCE, len(offsets))
    found = rankings(live, targets, k, *(np.float32(strength) * offsets for strength in STRENGTHS))
    return most_even(np.stack([rows for _, rows in found]), len(offsets))


def warnings(chosen: ChosenStrength | None) -> list[str]:
    """The verdict, if it is that something is wrong."""
    if chosen is None or (chosen.strength == chosen.current and chosen.state != "too_few"):
        return []
    return [verdict(chosen)]


def verdict(chosen: ChosenStrength) -> str:
    """What live queries say about the bank, in sentences."""
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
