"""Live queries of a build: looked at before the long work, and asked for the default strength after it."""

import numpy as np

from hubless.builder.banks.bank_checks import MOST_TARGETS, log
from hubless.builder.banks.live_strength import drawn, refuse_targets, warnings
from hubless.builder.making import Made
from hubless.builder.measuring import K_OCCURRENCE, MOST_RESCORED
from hubless.builder.reading import Compared
from hubless.corrections import Gate
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.measures.likeness import share_among
from hubless.progress import Steps
from hubless.search.ranker import Ranker
from hubless.vectors.sources import VectorSource


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
    refuse_targets(live, vectors.targets, vectors.live_among_targets)
    if (known := share_among(live, vectors.query_bank)) > MOST_TARGETS:
        log.warning(
            f"{known:.0%} of the live queries are in the query bank, too. The bank fits these, and that says nothing "
            "about others: give live queries that are not in the bank."
        )


def chosen_strength(live_queries: VectorSource | None, made: Made, steps: Steps) -> ChosenStrength | None:
    """Return the strength at which a version answers live queries most evenly; None without such queries."""
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
