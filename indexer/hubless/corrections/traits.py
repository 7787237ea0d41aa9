"""Traits of targets, which their vectors do not show: how often each should be found, and its group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hubless.corrections.base import FittedCorrection, Rows
from hubless.corrections.grouped import Names
from hubless.corrections.prior import prior_offsets
from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64


@dataclass(frozen=True)
class TargetTraits:
    """Of n targets the target prior (n,), NaN where nobody knows, and the group of each (n,); None for neither.

    `usual` is the prior of those of which nobody knows, None for the median.
    """

    prior: F64 | None = None
    groups: Names | None = None
    usual: float | None = None

    def __getitem__(self, rows: Any) -> "TargetTraits":
        prior = None if self.prior is None else self.prior[rows]
        return TargetTraits(prior, None if self.groups is None else self.groups[rows])


NO_TRAITS = TargetTraits()


def offsets_of(
    fitted: FittedCorrection, targets: Rows, traits: TargetTraits = NO_TRAITS, advance: Advance = no_progress
) -> F64:
    """Return the offsets (n,) of targets with these traits. Raises `InputError` if the fit knew no such trait."""
    of_groups: Callable[..., F32] | None = getattr(fitted, "of_groups", None)
    if traits.groups is not None:
        if of_groups is None:
            raise InputError("fit_by", "none, as the correction is one fit for all targets", "groups")
        return of_groups(targets, traits.groups, advance).astype("float64")
    found = fitted.offsets(targets, advance).astype("float64")
    return found if traits.prior is None else found + prior_offsets(fitted, traits.prior)
