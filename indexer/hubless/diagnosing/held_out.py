"""Rankings by bank queries that are held out from the fit, and what they say of a gain without labels: a word.

Where first answers hardly change there is nothing to gain. Where most change and give up much similarity, and offsets
are linear in the targets, all queries lean one way, and there is much. Of all else signs tell little: popular targets
are found often too, and pushing these down is a loss. Measured on 47 sets: `benchmarks/expected_gain.py`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.builder.banks.bank_split import FEWEST, split_bank
from hubless.builder.banks.default_strength import MOST_CHANGED, MOST_GIVEN_UP
from hubless.builder.pipeline.survey import held_out_survey
from hubless.corrections import Correction, Details
from hubless.errors import InputError
from hubless.kernels.reductions import moments
from hubless.knn.augment import centre
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource, sample

Outlook = Literal["nothing", "some", "much", "unknown"]
"""What `auto` may gain: less than a point of R@1, some, more than two points, or what labels only can tell."""
HARDLY = 0.02
"""With fewer first answers that change there is nothing to gain, if one more would not be as many."""
LEANING, LINEAR, UNEVEN, DIMENSIONS = 2.0, 0.3, 2.0, 20
"""Beyond these spreads and linearity it is hubs, if the bank is no log. Recommenders reach 1.3 spreads,
and logs of paraphrases 3.4 and 0.7, with an unevenness of 2.1 and more; most fair banks have 1.0 to 1.9. In fewer
dimensions 10 principal components explain everything. Those of factors of likes by gradient descent are 4 to 15, of
others that lean 28 and more."""
_SAMPLED = 4096
"""So many targets tell in how many dimensions they lie."""


@dataclass(frozen=True)
class HeldOut:
    """The first k targets (m, k), best first, of the bank queries in `rows`, raw and by a fit without these."""

    rows: I64
    queries: F32
    similarities: F32
    raw: I64
    corrected: I64
    offsets: F32
    details: Details
    changed: float
    """Share of the queries whose first answer changes."""
    given_up: float
    """Mean similarity that first answers give up, in standard deviations of ranks 2 to 11."""
    dimensions: float
    """In so many the targets lie: their participation ratio."""

    @property
    def outlook(self) -> Outlook:
        """Return what there is to gain with queries like those of the bank."""
        if self.changed + 1 / len(self.raw) < HARDLY:
            return "nothing"
        if self.changed < MOST_CHANGED or self.given_up < MOST_GIVEN_UP:
            return "some"
        linear, uneven = (self.details.get(name, 0) for name in ("linearity", "unevenness"))
        leaning = self.given_up >= LEANING and linear >= LINEAR and self.dimensions >= DIMENSIONS
        return "much" if leaning and uneven < UNEVEN else "unknown"


def held_out_rankings(
    correction: Correction,
    bank: VectorSource,
    targets: VectorSource,
    k: int,
    *,
    target_bank: VectorSource | None = None,
    seed: int = 0,
    advance: Advance = no_progress,
) -> HeldOut:
    """Rank all targets (n, d) for half of the bank (b, d), at most 1,000 queries, by a fit on the others."""
    count = bank.shape[0]
    if count < FEWEST:
        raise InputError(bank.name, f"at least {FEWEST} queries, as half of them are held out", count)
    split = split_bank(bank, seed)
    fitted, found = held_out_survey(correction, split, targets, target_bank, k, advance)
    raw, corrected = found.rows
    offsets = np.asarray(centre(found.offsets[0]), np.float32)
    answers = split.rows, split.queries, found.scores[0], raw, corrected
    dimensions = participation_ratio(sample(targets, _SAMPLED))
    return HeldOut(*answers, offsets, fitted.details, *found.upheaval(), dimensions)


def participation_ratio(rows: VectorSource) -> float:
    """Return (Σλ)²/Σλ² of the eigenvalues λ of the covariance of rows (n, d): d if they vary alike in all directions.

    Source: Gao et al., "A theory of multineuronal dimensionality, dynamics and measurement", 2017.
    """
    _, covariance = moments(rows)
    squares = np.square(covariance).sum()
    return float(np.trace(covariance) ** 2 / squares) if squares else 0.0
