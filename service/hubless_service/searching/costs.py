"""How long searches take, by their keys, to know beforehand which are cheap."""

from collections.abc import Hashable
from math import inf, pow

_MOST = 1024


class Costs:
    """The usual time of the last searches of each key.

    It is a geometric mean, as one search that the system held up says little: at a weight of 0.3, one that took 100
    times as long as usual counts as 4 times. Only the hashes of keys are kept, as keys hold collections. Of more than
    1,024 keys, the one noted longest ago is forgotten.

    Attributes
    ----------
    usual : seconds of the last searches of all keys, and of those without one; 0 before the first

    Parameters
    ----------
    weight : of the last search beside those before it
    """

    def __init__(self, weight: float = 0.1) -> None:
        self.usual = 0.0
        self._weight = weight
        self._seconds: dict[int, float] = {}

    def note(self, key: Hashable | None, seconds: float) -> None:
        """Take account of one search; a search without a key counts in `usual` only."""
        seconds = max(seconds, 1e-6)
        self.usual = self._mean(self.usual or seconds, seconds)
        if key is None:
            return
        known = hash(key)
        self._seconds[known] = self._mean(self._seconds.pop(known, seconds), seconds)
        if len(self._seconds) > _MOST:
            del self._seconds[next(iter(self._seconds))]

    def of(self, key: Hashable | None) -> float:
        """Seconds that a search is expected to take; infinite for a key that is not known."""
        return inf if key is None else self._seconds.get(hash(key), inf)

    def _mean(self, before: float, last: float) -> float:
        return before * pow(last / before, self._weight)
