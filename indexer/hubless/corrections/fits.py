"""Several fits of one correction, on a bank and on parts of it, in the passes over all targets that one takes."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from hubless.corrections.base import Correction, FittedCorrection, Rows
from hubless.corrections.prior import TargetPrior
from hubless.corrections.prior import fit as fit_one
from hubless.kernels.coupling import Fitting, in_step
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


@runtime_checkable
class FitsInPasses(Protocol):
    """A correction whose fit asks for passes over all targets."""

    def fitting(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
    ) -> Fitting[FittedCorrection]:
        """The fit; see `hubless.kernels.coupling.in_step`."""


@runtime_checkable
class SharesProducts(Protocol):
    """A fitted correction that gives offsets by several fits at the cost of one."""

    @staticmethod
    def offsets_each(fits: Sequence[Any], targets: Rows) -> list[F32]:
        """The offsets by each fit, (n,)."""


def fit_each(
    method: Correction,
    banks: Sequence[VectorSource],
    targets: VectorSource,
    target_bank: VectorSource | None,
    target_prior: TargetPrior | None,
) -> list[FittedCorrection]:
    """Fit a correction on each of some query banks (b, d), as `hubless.corrections.prior.fit` does."""
    if isinstance(method, FitsInPasses):
        return in_step([method.fitting(bank, targets, target_bank, target_prior) for bank in banks])
    return [fit_one(method, bank, targets, target_bank, target_prior) for bank in banks]


def offsets_each(fits: Sequence[FittedCorrection], targets: VectorSource) -> list[F32]:
    """The offsets (n,) of targets by each of some fits of one correction."""
    if isinstance(fits[0], SharesProducts):
        return fits[0].offsets_each(fits, targets)
    return [each.offsets(targets) for each in fits]
