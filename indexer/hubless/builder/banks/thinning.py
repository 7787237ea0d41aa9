"""Query banks from live queries: near-duplicates counted once, nobody's too many, outliers out.

Popular is not hubby. If many people rightly ask for the same targets, a bank with all of their queries takes these
targets for hubs. So queries with nearly the same answers count once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.kernels.reductions import top_k, top_k_mean_each
from hubless.measures.by_content import by_content
from hubless.measures.evenness import SAME_ANSWERS, alike_answers
from hubless.store.clients import first_of_each, held_out, most_of_each
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HeldVectors, VectorSource

CLIENT_SHARE = 0.25
_FOUND = 10
_CSLS = 10  # queries of which a target's mean similarity is taken
_FAR_OUT = 3.0


@dataclass(frozen=True)
class ThinnedQueries:
    """The live queries (m, d) that are left, and those that are not: rows of them, ascending.

    `like` (m,) is the row of the query that stands for each: itself for those that are left, −1 for outliers.
    """

    rows: I64
    near_duplicates: I64
    capped: I64
    outliers: I64
    like: I64

    def note(self, name: str) -> str:
        """Return in a sentence how many queries of a bank are left, and why others are not."""
        out = {
            "near-duplicates": self.near_duplicates,
            "over the share of a client": self.capped,
            "outliers": self.outliers,
        }
        told = ", ".join(f"{len(rows):,} {name}" for name, rows in out.items() if len(rows))
        kept = f"{len(self.rows):,} of {len(self.like):,} queries of {name} are left"
        return f"{kept}: without {told}" if told else kept


def thin(
    queries: F32,
    targets: VectorSource,
    clients: Sequence[str] | None = None,
    *,
    same: float = SAME_ANSWERS,
) -> ThinnedQueries:
    """Choose the live queries that make a good query bank.

    Answers are those of `csls` with these queries as its bank, so that a hub that all of them find makes no two alike.
    Queries with a share `same` of their first ten answers in common count once; above 1 none do. One client has at most
    a quarter of what is left; with few clients an equal share each.
    An outlier's highest similarity with a target is below Q₁ − 3·(Q₃ − Q₁), or above Q₃ + 3·(Q₃ − Q₁), Tukey's far-out
    fences over all queries: it asks for nothing, or was made of a target, perhaps to bury it.

    Source: Tukey, "Exploratory Data Analysis", 1977, section 2D.
    """
    best, _ = top_k(queries, targets, 1)
    low, high = np.quantile(best[:, 0], (0.25, 0.75))
    fence = _FAR_OUT * (high - low)
    order = by_content(HeldVectors(queries, "queries"), *[clients] if clients else ()).rows
    inside = order[((best >= low - fence) & (best <= high + fence))[order, 0]]
    kept = queries[inside]
    (mean,) = top_k_mean_each([HeldVectors(kept, "queries")], targets, [min(_CSLS, len(kept))])
    _, found = top_k(kept, targets, _FOUND, (mean / 2).astype(np.float32))
    stands = inside[alike_answers(found, same)]
    like = np.full(len(queries), -1)
    like[inside] = stands
    different = inside[stands == inside]
    allowed = different if clients is None else _capped([clients[row] for row in different.tolist()], different)
    return ThinnedQueries(
        rows=np.sort(allowed),
        near_duplicates=np.flatnonzero((like >= 0) & (like != np.arange(len(queries)))),
        capped=np.setdiff1d(different, allowed),
        outliers=np.flatnonzero(like < 0),
        like=like,
    )


@dataclass(frozen=True)
class LiveBank:
    """Rows of live queries for a bank, those of others that check it, and what `thin` left out."""

    rows: I64
    fresh: I64
    thinned: ThinnedQueries


def live_bank(
    queries: F32, targets: VectorSource, clients: Sequence[str], seed: int = 0, *, fresh: bool = True
) -> LiveBank:
    """Make a bank of live queries (m, d) as they are compared: up to 200 `fresh` stay out of it, others are thinned.

    Texts, which no client asked, are no live queries: none stays out.
    """
    rows, others = np.arange(len(queries)), np.arange(0)
    if fresh and clients:
        order = by_content(HeldVectors(queries, "queries"), clients).rows
        sides = held_out(len(queries), seed, [clients[row] for row in order.tolist()])
        rows, others = (np.sort(order[side]) for side in sides)
    left = thin(queries[rows], targets, [clients[row] for row in rows.tolist()] if clients else None)
    return LiveBank(rows[left.rows], others, left)


def _capped(clients: Sequence[str], rows: I64) -> I64:
    """Return the rows that are left if no client has more than its share of these. The first ones of each stay."""
    asked = Counter(clients)
    most = most_of_each(0, [*asked.values()], max(CLIENT_SHARE, 1 / max(len(asked), 1)))
    return rows[first_of_each(clients, most)]
