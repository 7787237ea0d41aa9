"""Fitting the correction of a build, and the offsets of its targets."""

from collections.abc import Sequence
from dataclasses import dataclass

from hubless.builder.checkpoints import Checkpoints
from hubless.builder.reading import Compared
from hubless.builder.recipe import Recipe
from hubless.corrections import FittedCorrection, QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.fits import fit_each
from hubless.knn.augment import centre
from hubless.progress import Steps
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class Corrected:
    """Targets (n, d) with their offsets (n,), centred, and the gate or rescorer of the correction if it has one."""

    targets: VectorSource
    correction: CentredCorrection
    offsets: F32
    query_time: QueryTime | None


def fits_on(
    banks: Sequence[VectorSource], vectors: Compared, recipe: Recipe, steps: Steps, checkpoints: Checkpoints
) -> list[FittedCorrection]:
    """Fit the correction on each of some banks (b, d): the query bank of the vectors, and parts of it.

    Parameters
    ----------
    checkpoints : keep the fits, so that a killed build goes on
    """
    steps.step("fitting the correction")

    def fit() -> list[FittedCorrection]:
        return fit_each(recipe.method, banks, vectors.targets, vectors.target_bank, vectors.target_prior)

    return checkpoints.fits(recipe.correction, banks, fit)


def corrected_by(fitted: FittedCorrection, targets: VectorSource, offsets: F32, steps: Steps) -> Corrected:
    """Centre the offsets (n,) that a fit gives to targets (n, d), and prepare its gate or rescorer."""
    constant = float(offsets.astype("float64").mean())
    query_time = fitted.query_time(targets, steps.step("preparing for queries", targets.shape[0]))
    return Corrected(targets, CentredCorrection(fitted, constant), centre(offsets), query_time)
