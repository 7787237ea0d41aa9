"""The query bank of items that search for each other, in which no item stands for itself.

An item is most like itself. In its own bank it drowns all others, and a softmax gives every item the same offset.
"""

from collections import defaultdict

import numpy as np

from hubless.vectors.arrays import F32, I64
from hubless_lab.matrices import OpenMatrices

_FAR = 10
"""How many ranges of the similarities a target lies below the least one, for the bank queries that are itself."""


def own_cells(bank: F32, *items: F32) -> I64:
    """Return bank rows and target rows (c, 2) that are the same item, by equal vectors of what target i is (n, d)."""
    found = set()
    for of_targets in items:
        places = defaultdict(list)
        for place, row in enumerate(of_targets):
            places[row.tobytes()].append(place)
        found |= {(row, place) for row, vector in enumerate(bank) for place in places.get(vector.tobytes(), ())}
    return np.array(sorted(found), np.int64).reshape(-1, 2)


def apart(matrices: OpenMatrices, cells: I64) -> OpenMatrices:
    """Return matrices in which these bank queries are less like these targets than anything else is."""
    if matrices.bank is None:
        return matrices
    changed, (rows, columns) = matrices.bank.copy(), cells.T
    changed[rows, columns] = changed.min() - _FAR * np.ptp(changed)
    return OpenMatrices(matrices.queries, changed, matrices.target_bank, len(np.unique(rows)))
