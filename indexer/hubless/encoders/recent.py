"""The vectors of recent texts."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from hubless.arrays import F32


class Recent:
    """The vectors of the texts that were asked for last, at most `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, F32] = OrderedDict()

    def known(self, texts: Iterable[str]) -> dict[str, F32]:
        """Those of the texts that are known, each with its vector (d,)."""
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in found:
                self._vectors.move_to_end(text)
        return found

    def remember(self, vectors: Mapping[str, F32]) -> None:
        """Take in the vectors of some texts, and forget the oldest ones."""
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)
