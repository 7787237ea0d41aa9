"""Lists that corrections of scores are asked, on their way to the files that those learn from."""

import logging
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from fastapi import Request

from hubless.errors import StorageError
from hubless.search.scores.kept_corrections import KeptCorrections
from hubless.search.scores.learned_lists import AskedList
from hubless_service.observing.sampling import client_of

_log = logging.getLogger("hubless.sample")

_WRITE_SECONDS = 15.0
_MOST_WAITING = 2000
"""Lists that wait to be written; of more the oldest are lost."""
_NAME = itemgetter(0)


class ListSampler:
    """The lists that wait to be written. It is told what was answered, at next to no cost."""

    def __init__(self, scores: KeptCorrections) -> None:
        self._scores = scores
        self._asked: deque[tuple[str, AskedList]] = deque(maxlen=_MOST_WAITING)
        self._written = 0.0

    def note(self, request: Request, name: str, ids: Sequence[Any], scores: Sequence[float]) -> None:
        """Note a list that was corrected, if the correction learns."""
        if self._scores.learns(name):
            self._asked.append((name, AskedList(ids, scores, client_of(request))))

    def look(self, now: float, *, last: bool = False) -> None:
        """Write the lists if that is due. Fails never."""
        if not self._asked or (now - self._written < _WRITE_SECONDS and not last):
            return
        self._written = now
        asked = sorted((self._asked.popleft() for _ in range(len(self._asked))), key=_NAME)
        for name, some in groupby(asked, _NAME):
            try:
                self._scores.add(name, [each for _, each in some], now)
            except StorageError as error:
                _log.warning('lists of scores "%s" cannot be kept: %s', name, error)
            except Exception:
                _log.exception('lists of scores "%s" cannot be kept', name)
