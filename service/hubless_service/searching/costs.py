"""How long searches take, by their keys, to know beforehand which are cheap."""

from collections.abc import Hashable
from math import inf, pow

_MOST = 1024


class Costs:
    """The usual time of the last searches of each key.

    Only the hashes of keys are kept, as keys hold collections. Of more than 1,024 keys, the one noted longest ago is
    forgotten.

    Parameters
    ----------
    weight : of the last search beside those before it
    """

    def __init__(self, weight: float = 0.1) -> None:
        self._weight = weight
        self._seconds: dict[int, float] = {}

    def note(self, key: Hashable | None, seconds: float) -> None:
        """Take account of one search; a search without a key is not noted."""
        if key is None:
            return
        known, seconds = hash(key), max(seconds, 1e-6)
        before = self._seconds.pop(known, seconds)
        self._seconds[known] = usual(before, seconds, self._weight)
        if len(self._seconds) > _MOST:
            del self._seconds[next(iter(self._seconds))]

    def of(self, key: Hashable | None) -> float:
        """Seconds that a search is expected to take; infinite for a key that is not known."""
        return inf if key is None else self._seconds.get(hash(key), inf)


def usual(before: float, last: float, weight: float) -> float:
    """The geometric mean of what was usual before and the last, which has a weight.

    One search that the system held up says little: at a weight of 0.3, one that took 100 times as long as usual counts
    as 4 times.
    """
    return before * pow(last / before, weight)
