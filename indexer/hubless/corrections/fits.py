"""Several fits of one correction, on a bank and on parts of it, in the passes over all targets that one takes."""

from collections.abc import Callable, Sequence

from hubless.corrections.base import Correction, FittedCorrection
from hubless.corrections.prior import TargetPrior
from hubless.corrections.prior import fit as fit_one
from hubless.kernels.coupling import in_step
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


def fit_each(
    method: Correction,
    banks: Sequence[VectorSource],
    targets: VectorSource,
    target_bank: VectorSource | None,
    target_prior: TargetPrior | None,
) -> list[FittedCorrection]:
    """Fit a correction on each of some query banks (b, d), as `hubless.corrections.prior.fit` does."""
    if (fitting := getattr(method, "fitting", None)) is not None:
        return in_step([fitting(bank, targets, target_bank, target_prior) for bank in banks])
    return [fit_one(method, bank, targets, target_bank, target_prior) for bank in banks]


def offsets_each(fits: Sequence[FittedCorrection], targets: VectorSource) -> list[F32]:
    """The offsets (n,) of targets by each of some fits of one correction."""
    together: Callable[..., list[F32]] | None = getattr(fits[0], "offsets_each", None)
    return [each.offsets(targets) for each in fits] if together is None else together(fits, targets)
