"""Lists that corrections of scores are asked, on their way to the files that those learn from."""

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from fastapi import Request

from hubless.errors import StorageError
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.kept_scores.learned_lists import AskedList
from hubless_service.observing.sampling import Waiting, client_of

_log = logging.getLogger("hubless.sample")

_NAME = itemgetter(0)


class ListSampler:
    """The lists that wait to be written. It is told what was answered, at next to no cost."""

    def __init__(self, scores: KeptCorrections) -> None:
        self._scores = scores
        self._waiting = Waiting[tuple[str, AskedList]]()

    def note(self, request: Request, name: str, ids: Sequence[Any], scores: Sequence[float]) -> None:
        """Note a list that was corrected, if the correction learns."""
        if heard := self._scores.heard(name, ids, scores, client_of(request)):
            self._waiting.note((name, heard), heard.weight)

    def look(self, now: float, *, last: bool = False) -> None:
        """Write the lists if that is due. Fails never."""
        for name, some in groupby(sorted(self._waiting.due(now, last=last), key=_NAME), _NAME):
            try:
                self._scores.add(name, [each for _, each in some], now)
            except StorageError as error:
                _log.warning('lists of scores "%s" cannot be kept: %s', name, error)
            except Exception:
                _log.exception('lists of scores "%s" cannot be kept', name)
