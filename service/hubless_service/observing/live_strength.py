"""The strength that the live queries of one version speak for: whether the correction suits them.

A sample of the queries is searched at several strengths while no query waits. Only the rows that were found are kept.
"""

import weakref
from collections import deque
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.vectors.arrays import F32, I64
from hubless_service.observing.decayed import mapped
from hubless_service.observing.version_hubness import K
from hubless_service.processes.folder import counts_of, counts_of_others
from hubless_service.settings import Settings

SIZE = 512
"""Queries whose answers are kept."""
_TOGETHER = 32  # queries searched at each strength by one call; in between it is looked whether others wait
_RENEWED = 0.05  # share of the kept answers that must be new before the strength is chosen anew
_random = Random()  # noqa: S311  # draws, no secrets; its own, so that no other code seeds it


class Waiting(NamedTuple):
    """A query that is to be searched at each strength: its vector (d,), and the options of its search."""

    vector: F32
    options: dict[str, Any]


class LiveStrength:
    """Answers to live queries at each strength: at first to all; once there are `SIZE`, only to a share of them.

    With several workers, the answers that others keep count too.
    """

    def __init__(self, collection: hubless.Collection, settings: Settings, folder: Path | None) -> None:
        self._share = settings.hubness_share
        self._folder = folder
        self._name = f"{collection.name}-{collection.version}-strengths"
        path = folder and counts_of(folder, self._name)
        shape = (SIZE, len(STRENGTHS), K)
        size = int(np.prod(shape))
        memory = mapped(path, size) if path else np.zeros(size, np.float32)
        self._answers = memory.view(np.int32).reshape(shape)  # row + 1, and 0 for nothing
        self._filled = 0
        self._renewed = 0
        self._waiting: deque[Waiting] = deque(maxlen=SIZE)
        self._chosen: ChosenStrength | None = None
        if path:
            weakref.finalize(self, path.unlink, missing_ok=True)

    @property
    def chosen(self) -> ChosenStrength | None:
        """What was chosen last; None before any query."""
        return self._chosen

    def observe(self, vectors: F32, options: dict[str, Any]) -> None:
        """Draw some of the queries (m, d), to be searched later."""
        for vector in vectors:
            full = self._filled + len(self._waiting) >= SIZE
            if not full or _random.random() < self._share:
                self._waiting.append(Waiting(vector.copy(), options))

    def rank(self, collection: hubless.Collection) -> bool:
        """Search some of the queries that were drawn at each strength; whether others are left."""
        alike: list[Waiting] = []
        while self._waiting and len(alike) < _TOGETHER:
            if alike and self._waiting[0].options != alike[0].options:
                break
            alike.append(self._waiting.popleft())
        if alike:
            queries = np.stack([waiting.vector for waiting in alike])
            options = alike[0].options | {"limit": K}
            found = [collection.query(queries, **(options | {"strength": strength})).rows for strength in STRENGTHS]
            self._keep(np.stack(found, axis=1))
        return bool(self._waiting)

    def choose(self, collection: hubless.Collection, current: float) -> bool:
        """Choose anew if enough has changed; whether it did.

        Parameters
        ----------
        current : the strength that is kept in doubt
        """
        unchanged = self._chosen is not None and self._chosen.current == current
        if not self._renewed or (unchanged and self._renewed < _RENEWED * self._filled):
            return False
        self._renewed = 0
        answers = self._together().transpose(1, 0, 2) - 1
        self._chosen = most_even(answers, collection.count, current=current)
        return True

    def _keep(self, found: I64) -> None:
        """Keep answers (m, s, k), k at most K."""
        for answer in found:
            place = self._filled if self._filled < SIZE else _random.randrange(SIZE)
            self._answers[place] = 0
            self._answers[place, :, : answer.shape[1]] = answer + 1
            self._filled = min(self._filled + 1, SIZE)
            self._renewed += 1

    def _together(self) -> np.ndarray:
        """Answers (m, s, k) as they are kept, of all workers."""
        parts = [self._answers[: self._filled]]
        for path in counts_of_others(self._folder, self._name) if self._folder else ():
            try:
                parts.append(np.fromfile(path, np.int32).reshape(self._answers.shape))
            except (OSError, ValueError):  # it is gone, or not complete yet
                continue
        answers = np.concatenate(parts)
        return answers[answers[:, 0, 0] > 0]
