"""Corrections where only similarities are known: what each method needs of them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hubless.corrections import CORRECTIONS, Correction, FittedCorrection, Rows
from hubless.corrections.folded.auto import SAMPLE, shrunk
from hubless.corrections.folded.bank_index import EXACT
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.prior import TargetPrior
from hubless.corrections.prior import fit as fit_correction
from hubless.errors import InputError
from hubless.lab.matrices import BETWEEN
from hubless.vectors.arrays import F32
from hubless.vectors.sources import ArrayVectors, as_source, sample, sampled_rows

AUTO_NOTE = "auto: without vectors it takes no topic of a narrow bank out of the offsets"
_BETWEEN = ("dual_is", "dual_dis")
"""Those that compare the target bank with the targets, and not with the bank queries."""


@dataclass(frozen=True)
class Vectorless:
    """A correction that is fitted on rows of similarities, as `hubless.lab.matrices` makes vectors of them.

    `auto` leaves out one of its rules: it takes no topic of a narrow bank out of the offsets, since a topic is a
    direction among the targets' vectors.

    Parameters
    ----------
    between : (g, n) similarities of target bank and targets, for the methods that need these

    Raises
    ------
    InputError
        from `fit`, if the correction needs codes of vectors, or similarities that were not given.
    """

    correction: Correction
    between: F32 | None = None

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedCorrection:
        return self.fit_with_prior(query_bank, targets, target_bank, None)

    def fit_with_prior(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
    ) -> FittedCorrection:
        """As `fit`, with how often each target should be found."""
        name = _name(self.correction)
        if getattr(self.correction, "bank_index", EXACT) != EXACT:
            raise InputError("bank_index", f'"{EXACT}" with similarities: codes are made of vectors', "another")
        if name == "auto":
            return _auto(query_bank, targets, target_bank, target_prior)
        extra = self._between(name, targets) if name in _BETWEEN else target_bank
        return fit_correction(self.correction, query_bank, targets, extra, target_prior)

    def _between(self, name: str, targets: Rows) -> ArrayVectors:
        if self.between is None:
            expected = f"those of the target bank with the targets, as {name} needs them"
            raise InputError(BETWEEN, expected, "none")
        missing = as_source(targets, "targets").shape[1] - self.between.shape[1]
        return ArrayVectors(np.pad(self.between, ((0, 0), (0, missing))), "target bank")


def _auto(
    query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
) -> FittedCorrection:
    method = SinkhornNormalisation() if target_bank is None else DualBankSinkhorn()
    fitted = method.fit_with_prior(query_bank, targets, target_bank, target_prior)
    source = as_source(targets, "targets")
    some = sample(source, SAMPLE)
    offsets = fitted.offsets(some).astype(np.float64) - fitted.level
    if target_prior is not None:
        offsets += fitted.of_prior(target_prior.taken(sampled_rows(source.shape[0], SAMPLE)).values)
    careful = shrunk(fitted, some, offsets)
    why = (
        f"{'no' if target_bank is None else 'a'} target bank was given; temperature {fitted.temperature:.4g}; "
        f"{careful.extra['why']}; without vectors no topic of the bank is taken out"
    )
    return replace(careful, extra=careful.extra | {"chosen": _name(method), "why": why})


def usable(name: str, between: bool) -> bool:
    """Whether a correction can be fitted on similarities, with or without those between target bank and targets."""
    return between or name not in _BETWEEN


def _name(correction: Any) -> str:
    return next((name for name, kind in CORRECTIONS.items() if kind is type(correction)), type(correction).__name__)
