"""The target prior that clicks make."""

from hubless.corrections.target_columns import TargetColumn
from hubless.measures.occurrence import unexplained_variation
from hubless.vectors.arrays import F64

BY_CHANCE = 0.2
"""Clicks whose targets differ by no more than this say nothing of what is popular."""


def click_prior(counts: F64, power: float = 1.0) -> TargetColumn | None:
    """Return how often each target should be found, (c_j + 1/D)^power, by its clicks c (n,); None if they say nothing.

    D = (var c − mean c)/(mean c)² is what the counts vary by beyond chance. If demand is drawn from a Gamma
    distribution, and clicks from Poisson's with this mean, c_j + 1/D is the expected demand given the clicks, but for a
    factor. So it is for a target without clicks, 1/D, and for those that come later. Powers below 1 trust clicks less.
    None where D is at most 0.2.

    Source: Robbins, "An Empirical Bayes Approach to Statistics", 1956, section 2, with a Gamma prior.
    """
    spread = unexplained_variation(counts)
    if not spread > BY_CHANCE:
        return None
    return TargetColumn((counts + 1 / spread) ** power, spread**-power)
