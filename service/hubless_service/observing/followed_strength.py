"""The strength that queries of one version get if they give none: that of the version, or one that follows.

It follows what live queries speak for, slowly: in steps of ¼, from 0 to 1, and only after they said the same several
times.
"""

import logging
import os
from pathlib import Path

import hubless
from hubless.measures.evenness import STRENGTHS, ChosenStrength

STEP = 0.25
AGREED = 3
"""So many choices in a row must lie on the same side before a step is made."""
LOWEST, HIGHEST = STRENGTHS[0], STRENGTHS[-1]

log = logging.getLogger("hubless.strength")


class FollowedStrength:
    """The strength that is served now.

    `folder`: that all workers share, so that they serve one strength; None in a server of one process.
    """

    def __init__(self, collection: hubless.Collection, folder: Path | None) -> None:
        self.strength = collection.strength
        self._name = collection.name
        self._path = folder and folder / f"{collection.name}-{collection.version}.strength"
        self._agreed = 0
        self._side = 0

    def hear(self, chosen: ChosenStrength) -> None:
        """Take in what live queries speak for now, and make a step if they said so often enough."""
        wanted = min(max(chosen.strength, LOWEST), HIGHEST)
        side = (wanted > self.strength) - (wanted < self.strength)
        if chosen.state != "enough" or not side:
            self._agreed = 0
            return
        self._agreed = self._agreed + 1 if side == self._side else 1
        self._side = side
        if self._agreed >= AGREED:
            step = min(STEP, abs(wanted - self.strength))
            self._change(self.strength + side * step, f"{chosen.different} different live queries speak for {wanted:g}")
            self._publish()

    def look(self) -> None:
        """Take over the strength that another worker has changed to."""
        if self._path is None:
            return
        try:
            told = float(self._path.read_text("ascii"))
        except (OSError, ValueError):  # nobody has changed it yet
            return
        if told != self.strength:
            self._change(told, "another worker changed it")

    def _change(self, strength: float, why: str) -> None:
        log.warning(
            'collection "%s": queries that give no strength get %g, before it was %g: %s',
            *(self._name, strength, self.strength, why),
        )
        self.strength = strength
        self._agreed = 0

    def _publish(self) -> None:
        if self._path is None:
            return
        draft = self._path.with_suffix(f".{os.getpid()}")
        draft.write_text(repr(self.strength), "ascii")
        draft.replace(self._path)
