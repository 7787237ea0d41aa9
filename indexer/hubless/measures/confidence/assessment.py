"""Confidence and presence of answers."""

from typing import NamedTuple

from hubless.vectors.arrays import F32


class Assessment(NamedTuple):
    """Confidence in the answers of m queries: probabilities if `calibrated` by labels, else they order answers only."""

    numbers: F32
    calibrated: bool

    @property
    def confidence(self) -> F32:
        """The probability that the first hit is right, (m,)."""
        return self.numbers[:, 0]

    @property
    def presence(self) -> F32:
        """The probability that a right target is among those that were searched, (m,)."""
        return self.numbers[:, 1]

    @property
    def shares(self) -> F32:
        """The part of the confidence of each of the k hits, (m, k): of the first it is the confidence itself."""
        return self.numbers[:, 2:]
