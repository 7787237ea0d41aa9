"""A target is not lifted by what so few clients say of it alone.

Offsets rise with how high lists show a target. A client can show it as often and as high as it likes, so what it shows
counts only as far as others show it, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.reductions import Softmax
from hubless.kernels.sparse import Sparse
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import HeldVectors, VectorSource, column_of, in_memory

COLLUDING = 3
"""So many clients together lift no target above what others say of it."""
_AT_ONCE = 2**21
"""Similarities that are looked at together."""
CLIENTS = "clients"
"""The column of `AskedVectors`, and its name in the state of a fit."""
BELIEVED = -1
"""The number of whoever is believed."""


@dataclass(frozen=True)
class AskedVectors(HeldVectors):
    """Queries (b, d) in memory, with the number of the client that asked each."""

    clients: I64 = field(repr=False)


def asked_by(queries: F32, name: str, clients: Sequence[str | None] | None) -> HeldVectors:
    """Return queries (b, d) with who asked each, None whoever is believed; without any clients plain vectors."""
    if clients is None or not any(clients):
        return HeldVectors(queries, name)
    return AskedVectors(queries, name, client_numbers(clients))


def client_numbers(clients: Sequence[str | None]) -> I64:
    """Return a number for each client, from 1 on, and `BELIEVED` for None."""
    numbers: dict[str | None, int] = {None: BELIEVED}
    return np.array([numbers.setdefault(each, len(numbers)) for each in clients], np.int64)


def supported_sums(softmax: Softmax, targets: VectorSource) -> F64:
    """Return log Σ_i exp(q_i·t/τ + a_i) for each target (n, d), (n,), with similarities that count as in `supported`.

    The bank is one of `AskedVectors`. Fewer clients than `COLLUDING` and one more are all believed.
    """
    bank = in_memory(softmax.bank)
    clients = column_of(softmax.bank, CLIENTS)
    potentials = np.zeros(len(bank)) if softmax.potentials is None else softmax.potentials
    groups = [np.flatnonzero(clients == number) for number in np.unique(clients[clients != BELIEVED])]
    believed = np.flatnonzero(clients == BELIEVED)
    longest = max(map(len, groups), default=0)
    rows = np.full((len(groups), longest), len(bank))
    for number, group in enumerate(groups):
        rows[number, : len(group)] = group
    alike = ((np.arange(longest) + 0.5) * len(believed) / max(longest, 1)).astype(np.int64)
    addends = np.append(potentials, -np.inf)
    sums = list[F64]()
    for block in targets.blocks(max(1, _AT_ONCE // max(rows.size, len(bank)))):
        similarities = np.pad(block @ bank.T, ((0, 0), (0, 1)), constant_values=-np.inf)
        exponents = similarities[:, :-1] / softmax.temperature + potentials
        if len(groups) > COLLUDING:
            theirs = similarities[:, rows]
            order = np.argsort(-theirs, axis=2)
            theirs = np.take_along_axis(theirs, order, 2)
            most = np.partition(theirs, -1 - COLLUDING, axis=1)[:, -1 - COLLUDING]
            if len(believed):
                most = np.maximum(most, -np.sort(-similarities[:, believed], axis=1)[:, alike])
            theirs = np.minimum(theirs, most[:, np.newaxis]) / softmax.temperature
            theirs += np.take_along_axis(np.broadcast_to(addends[rows], theirs.shape), order, 2)
            exponents = np.concatenate([exponents[:, believed], theirs.reshape(len(block), -1)], axis=1)
        largest = exponents.max(axis=1)
        sums.append(np.log(np.exp(exponents - largest[:, np.newaxis]).sum(axis=1, dtype=np.float64)) + largest)
    return np.concatenate(sums)


def heard_of(matrix: Sparse, clients: I64) -> NDArray[np.bool_]:
    """Return which items (n,) a list that is believed has, or more clients than may collude. `clients` (b,): see below.

    Nobody can make an item out of nothing, and many such items would change what is usual for the others.
    """
    whose = clients[matrix.rows]
    pairs = np.unique(np.stack([matrix.columns, whose]), axis=1)
    theirs = np.bincount(pairs[0, pairs[1] != BELIEVED], minlength=matrix.width)
    heard: NDArray[np.bool_] = theirs > COLLUDING
    heard[matrix.columns[whose == BELIEVED]] = True
    return heard


def supported(matrix: Sparse, clients: I64) -> Sparse:
    """Return lists (b, n) with heights that count: those of a client as far as others support them.

    `clients` (b,) numbers who sent each list. Of a client's heights of an item the r-th highest counts up to the larger
    of two: the fourth highest of what all clients have as their r-th, and what the lists that are believed have there,
    in proportion. So of any four clients, one is no liar, and each of three liars adds to a sum of a rising function of
    the heights at most what the most fervent of the others does.
    """
    whose = clients[matrix.rows]
    sent = np.flatnonzero(whose != BELIEVED)
    if not len(sent):
        return matrix
    columns = matrix.columns.astype(np.int64)
    order = sent[np.lexsort((-matrix.values[sent], whose[sent], columns[sent]))]
    place = _places(columns[order], whose[order])
    ranked = np.lexsort((-matrix.values[order], place, columns[order]))
    order, place = order[ranked], place[ranked]
    here = columns[order]
    highest = _places(here, place)
    fourth = np.flatnonzero(highest == COLLUDING)
    most = np.zeros(len(order), matrix.values.dtype)
    most[fourth - COLLUDING] = matrix.values[order[fourth]]
    most = most[np.arange(len(order)) - highest]

    believed = np.flatnonzero(whose == BELIEVED)
    believed = believed[np.lexsort((-matrix.values[believed], columns[believed]))]
    times = (clients == BELIEVED).sum() / np.bincount(clients[clients != BELIEVED]).max()
    begins, ends = (np.searchsorted(columns[believed], here, side) for side in ("left", "right"))
    alike = begins + ((place + 0.5) * times).astype(np.int64)
    there = alike < ends
    most[there] = np.maximum(most[there], matrix.values[believed[alike[there]]])

    heights = matrix.values.copy()
    heights[order] = np.minimum(heights[order], most)
    return matrix._replace(values=heights)


def _places(*keys: I64) -> I64:
    """Return the place of each row among those before it that have the same keys, which lie side by side."""
    new = np.ones(len(keys[0]), np.bool_)
    new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    number = np.arange(len(new))
    return number - np.maximum.accumulate(np.where(new, number, 0))
