"""How long searches take, learnt from those that were: so that none is begun that would come too late."""

from collections import OrderedDict
from collections.abc import Hashable

_KEPT = 1000
_WEIGHT = 0.3  # of the latest search: one that was slow for once is soon forgotten


class Paces:
    """Seconds a query, for each way to search. Safe to use from several threads."""

    def __init__(self) -> None:
        # by hashes, as the ways themselves hold on to collections; two of one hash would spoil an estimate, no more
        self._seconds: OrderedDict[int, float] = OrderedDict()

    def of(self, way: Hashable) -> float:
        """Seconds that one query takes in a batch; 0 as long as nothing is known."""
        return self._seconds.get(hash(way), 0.0)

    def learn(self, way: Hashable, queries: int, seconds: float) -> None:
        """Take note of a search."""
        place, latest = hash(way), seconds / queries
        before = self._seconds.pop(place, latest)
        self._seconds[place] = before + _WEIGHT * (latest - before)
        if len(self._seconds) > _KEPT:
            self._seconds.popitem(last=False)
