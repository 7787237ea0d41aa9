"""Fitting the correction of a build, and the offsets of its targets."""

from dataclasses import dataclass

import numpy as np

from hubless.builder.checkpoints import Checkpoints, NoCheckpoints
from hubless.builder.reading import Compared
from hubless.builder.recipe import Recipe
from hubless.corrections import QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.prior import fit as fit_correction
from hubless.corrections.prior import prior_offsets
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


def correct(
    vectors: Compared,
    bank: VectorSource,
    recipe: Recipe,
    steps: Steps,
    fit: str = "",
    checkpoints: Checkpoints | None = None,
) -> Corrected:
    """Fit the correction on a bank (b, d), and compute the offsets of all targets.

    Parameters
    ----------
    bank : the query bank of the vectors, or a part of it
    fit : names the fit in the progress, where there are several
    checkpoints : keep the fit and the offsets, so that a killed build goes on; None keeps nothing
    """
    targets, kept = vectors.targets, checkpoints or NoCheckpoints()
    name = fit.strip().replace(" ", "-") or "shipped"
    steps.step(f"fitting the correction{fit}")
    prior = vectors.target_prior
    fitted = kept.fit(
        f"fit-{name}",
        recipe.correction,
        lambda: fit_correction(recipe.method, bank, targets, vectors.target_bank, prior),
    )
    advance = steps.step(f"computing offsets{fit}", targets.shape[0])
    offsets = kept.offsets(f"offsets-{name}", fitted, targets, advance)
    if prior is not None:
        offsets = (offsets + prior_offsets(fitted, prior.values)).astype(np.float32)
    constant = float(offsets.astype("float64").mean())
    query_time = fitted.query_time(targets, steps.step(f"preparing for queries{fit}", targets.shape[0]))
    return Corrected(targets, CentredCorrection(fitted, constant), centre(offsets), query_time)
