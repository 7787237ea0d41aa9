"""Fits of one correction, on a bank and on parts of it, with what columns say of the targets.

**Groups** are fitted one by one, each on its own queries. A **target prior** says how often each target should be
found, for the corrections that would find all equally often: p takes the place of 1/n in Sinkhorn's half step over the
targets, h_j = τ·LSE_i(q_i·t_j/τ + a_i) − τ·log p_j + const. So it folds, and only ratios count. Source: Shin et al.,
"OTTER: Effortless Label Distribution Adaptation of Zero-shot Models", NeurIPS 2024, which solves it exactly for a batch
of items. **Offsets** that are given are not fitted: see `folded/given.py`.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from hubless.corrections.base import Correction, FittedCorrection, Rows
from hubless.corrections.by_group import fit_by_group
from hubless.corrections.folded.softmax import fitted_in_step
from hubless.corrections.roles import FIT_BY, PRIOR
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.errors import InputError
from hubless.vectors.sources import VectorSource

TAKES_PRIOR = ("sn", "dbsn", "auto")


@runtime_checkable
class TakesPrior(Protocol):
    """A correction that takes a number of each target, such as the target prior."""

    takes_prior: ClassVar[bool]

    def fit(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, number: TargetColumn | None
    ) -> FittedCorrection:
        """As `Correction.fit`, with a number of each, and none that is NaN."""


def fit_each(
    method: Correction,
    banks: Sequence[VectorSource],
    targets: VectorSource,
    target_bank: VectorSource | None = None,
    columns: TargetColumns = NO_COLUMNS,
) -> list[FittedCorrection]:
    """Fit a correction on each of some query banks (b, d), with what columns say of the targets (n, d).

    Raises `InputError` if it takes no such column, and as its `fit`.
    """
    if (groups := columns.of(FIT_BY)) is not None:
        return [*fit_by_group(method, banks, targets, groups.values)]
    number = columns.number and columns.number.filled
    if (fitting := getattr(method, "fitting", None)) is not None:
        return [*fitted_in_step([fitting(bank, targets, target_bank, number) for bank in banks])]
    if number is None:
        return [method.fit(bank, targets, target_bank) for bank in banks]
    if not isinstance(method, TakesPrior):
        raise InputError(PRIOR.name, f"none with this correction ({', '.join(TAKES_PRIOR)} take one)", "one")
    return [method.fit(bank, targets, target_bank, number) for bank in banks]
