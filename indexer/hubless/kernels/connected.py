"""Connected components of a graph."""

import numpy as np

from hubless.vectors.arrays import I64


def connected(first: I64, second: I64, count: int) -> I64:
    """Return for each of `count` nodes, (n,), the least of those that it is connected with by edges (e,), or itself."""
    least = np.arange(count)
    while ((one := least[first]) != (other := least[second])).any():
        lower = np.minimum(one, other)
        np.minimum.at(least, one, lower)
        np.minimum.at(least, other, lower)
        while ((nearer := least[least]) != least).any():
            least = nearer
    return least
