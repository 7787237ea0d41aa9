"""Clients that teach a correction: each a tenth at most, enough of them, and some that check what the others taught."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hubless.vectors.arrays import I64

FEWEST_CLIENTS = 10
"""So many clients are needed, and each counts for one part in so many at most, unless it is trusted."""
MOST_CHECKING = 200
"""Of what was asked so much stays out, or a third, to check what is learned from the rest."""

_ROUNDING = 1e-9


class CountedQueries(NamedTuple):
    """Queries that count, or their lists, and how many clients asked them, of those that are needed at least."""

    queries: int
    clients: int
    clients_needed: int

    @classmethod
    def of(
        cls, clients: Mapping[Any, int], most: int, trusted: Container[str | None], needed: int = FEWEST_CLIENTS
    ) -> "CountedQueries":
        """Count what each client asked, of one that is not trusted so much at most. One that is trusted is enough."""
        asked = sum(count if name in trusted else min(count, most) for name, count in clients.items())
        return cls(asked, len(clients), 1 if any(name in trusted for name in clients) else needed)

    @property
    def are_enough(self) -> bool:
        return self.clients >= self.clients_needed


def most_of_each(others: int, asked: Sequence[int], share: float = 1 / FEWEST_CLIENTS) -> int:
    """Return the largest c with c ≤ share·(others + Σ min(asked, c)): so much of a client counts."""
    most = max(asked, default=0)
    while most > (fits := int(share * (others + sum(min(count, most) for count in asked)) + _ROUNDING)):
        most = fits
    return most


def first_of_each(clients: Sequence[str | None], most: int, trusted: Container[str | None] = ()) -> list[int]:
    """Return the rows that are left if no client has more than so many, but for those that are trusted."""
    kept = list[int]()
    of_client = Counter[str | None]()
    for row, client in enumerate(clients):
        of_client[client] += 1
        if of_client[client] <= most or client in trusted:
            kept.append(row)
    return kept


def counting_rows(
    clients: Sequence[str | None], believed: int, trusted: Sequence[str | None]
) -> tuple[CountedQueries, I64]:
    """Return what counts of what clients asked, and the rows (r,) of it: a tenth of a client that is not trusted.

    `believed` others stand beside it, which count as well.
    """
    asked = Counter(clients)
    believed += sum(asked[name] for name in trusted)
    most = most_of_each(believed, [count for name, count in asked.items() if name not in trusted])
    rows = first_of_each(clients, most, trusted)
    return CountedQueries.of(asked, most, trusted), np.array(rows, np.int64)


def held_out(count: int, seed: int, clients: Sequence[str] | None = None) -> tuple[I64, I64]:
    """Return rows (m,) of what was asked, to learn from, and 200 others, or a third, to check it with.

    The others are by other clients, where ten or more asked: who teaches must not check it.
    """
    rng = np.random.default_rng(seed)
    held = min(MOST_CHECKING, count // 3)
    names, client, counts = np.unique(np.array(clients or ()), return_inverse=True, return_counts=True)
    if len(names) < FEWEST_CLIENTS:
        order = rng.permutation(count)
        return np.sort(order[held:]), np.sort(order[:held])
    order = rng.permutation(len(names))
    last = int(np.searchsorted(np.cumsum(counts[order]), held))
    checking = np.isin(client, order[: last + 1])
    return np.flatnonzero(~checking), np.flatnonzero(checking)
