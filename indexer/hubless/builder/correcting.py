"""Fitting the correction of a build, and the offsets of its targets."""

from dataclasses import dataclass

from hubless.builder.checkpoints import Checkpoints
from hubless.builder.reading import Compared
from hubless.builder.recipe import Recipe
from hubless.corrections import FittedCorrection, QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.prior import fit as fit_correction
from hubless.knn.augment import centre
from hubless.progress import Steps
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource

SHIPPED, WITHOUT_HELD_OUT = "", " without held-out queries"
"""The two fits of a build, as they are named in the progress."""


@dataclass(frozen=True)
class Corrected:
    """Targets (n, d) with their offsets (n,), centred, and the gate or rescorer of the correction if it has one."""

    targets: VectorSource
    correction: CentredCorrection
    offsets: F32
    query_time: QueryTime | None


def fit(
    vectors: Compared, bank: VectorSource, recipe: Recipe, steps: Steps, name: str, checkpoints: Checkpoints
) -> FittedCorrection:
    """Fit the correction on a bank (b, d): the query bank of the vectors, or a part of it.

    Parameters
    ----------
    name : of the fit, for the progress
    checkpoints : keep the fit, so that a killed build goes on
    """
    steps.step(f"fitting the correction{name}")
    return checkpoints.fit(
        f"fit-{name.strip().replace(' ', '-') or 'shipped'}",
        recipe.correction,
        lambda: fit_correction(recipe.method, bank, vectors.targets, vectors.target_bank, vectors.target_prior),
    )


def corrected_by(
    fitted: FittedCorrection, targets: VectorSource, offsets: F32, steps: Steps, name: str = SHIPPED
) -> Corrected:
    """Centre the offsets (n,) that a fit gives to targets (n, d), and prepare its gate or rescorer."""
    constant = float(offsets.astype("float64").mean())
    query_time = fitted.query_time(targets, steps.step(f"preparing for queries{name}", targets.shape[0]))
    return Corrected(targets, CentredCorrection(fitted, constant), centre(offsets), query_time)
