"""How long searches take, by what they are: to know beforehand which are cheap."""

from collections.abc import Hashable
from math import inf

_MOST = 1024


class Costs:
    """The usual time of the last searches of each key: a geometric mean, as one that the system held up says little.

    Holds no keys, only their hashes: keys hold collections. `weight` is that of the last search beside those before.
    """

    def __init__(self, weight: float = 0.1) -> None:
        self._weight = weight
        self._seconds: dict[int, float] = {}

    def note(self, key: Hashable | None, seconds: float) -> None:
        """Take account of one search; of none without a key."""
        if key is None:
            return
        known = hash(key)
        seconds = max(seconds, 1e-6)
        before = self._seconds.pop(known, seconds)
        self._seconds[known] = before * (seconds / before) ** self._weight
        if len(self._seconds) > _MOST:
            self._seconds.pop(next(iter(self._seconds)), None)

    def of(self, key: Hashable | None) -> float:
        """Seconds that a search is expected to take; infinite for what was not seen."""
        return inf if key is None else self._seconds.get(hash(key), inf)
