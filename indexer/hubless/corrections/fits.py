"""Several fits of one correction, on a bank and on parts of it, in the passes over all targets that one takes."""

from collections.abc import Callable, Sequence

import numpy as np

from hubless.corrections.base import Correction, FittedCorrection
from hubless.corrections.by_group import fit_by_group
from hubless.corrections.prior import TargetPrior, fit as fit_one, prior_offsets
from hubless.corrections.traits import TargetTraits, offsets_of
from hubless.kernels.coupling import in_step
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


def fit_each(
    method: Correction,
    banks: Sequence[VectorSource],
    targets: VectorSource,
    target_bank: VectorSource | None,
    traits: TargetTraits,
) -> list[FittedCorrection]:
    """Fit a correction on each of some query banks (b, d), with the traits of the targets."""
    if traits.groups is not None:
        return [*fit_by_group(method, banks, targets, traits.groups)]
    target_prior = None if traits.prior is None else TargetPrior(traits.prior, traits.usual)
    if (fitting := getattr(method, "fitting", None)) is not None:
        return in_step([fitting(bank, targets, target_bank, target_prior) for bank in banks])
    return [fit_one(method, bank, targets, target_bank, target_prior) for bank in banks]


def offsets_each(fits: Sequence[FittedCorrection], targets: VectorSource, traits: TargetTraits) -> list[F32]:
    """The offsets (n,) of targets by each of some fits of one correction."""
    together: Callable[..., list[F32]] | None = getattr(fits[0], "offsets_each", None)
    if together is None or traits.groups is not None:
        return [offsets_of(each, targets, traits).astype(np.float32) for each in fits]
    found = together(fits, targets)
    if (prior := traits.prior) is None:
        return found
    return [(h + prior_offsets(fit, prior)).astype(np.float32) for fit, h in zip(fits, found, strict=True)]
