"""The likeness of targets, and from where on they count as copies."""

from dataclasses import dataclass

from hubless.corrections.banks.far_away import spread_of
from hubless.vectors.arrays import F32, unit_rows
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import VectorSource, in_memory, sample

ROWS = 2048
"""That are looked at together."""
NEAR_DUPLICATE = 0.98
"""From this cosine on."""


@dataclass(frozen=True)
class Likeness:
    """The likeness of targets: their cosine, or −½ of their squared distance; from `of_copies` on they are copies.

    By distance, copies are as near as vectors of that cosine that spread around one centre, as the targets do.
    """

    metric: str
    name: str
    of_copies: float

    @classmethod
    def among(cls, targets: VectorSource, metric: str) -> "Likeness":
        """Return the likeness of targets (n, d) as they are compared. By distance a sample tells their spread."""
        made = comparison(metric)
        if not made.lifted:
            return cls(metric, targets.name, NEAR_DUPLICATE)
        return cls(metric, targets.name, (NEAR_DUPLICATE - 1) * spread_of(made.plain(in_memory(sample(targets, ROWS)))))

    def asking(self, rows: F32) -> F32:
        """Return compared targets (m, d) that ask for those like them."""
        made = comparison(self.metric)
        return made.turned(rows) if made.lifted else unit_rows(rows, self.name, None)

    def asked(self, rows: F32) -> F32:
        """Return compared targets (m, d) whose products with those that ask say how alike they are."""
        return rows if comparison(self.metric).lifted else unit_rows(rows, self.name, None)
