"""A fitted correction with what is done to its offsets: some are held back, and a constant is taken out."""

from dataclasses import astuple, dataclass
from typing import Self

import numpy as np

from hubless.corrections.alone import StandingAlone
from hubless.corrections.base import Details, FittedCorrection, QueryTime, Rows, State, StateArrays
from hubless.corrections.prior import TargetPrior, prior_offsets
from hubless.corrections.traits import NO_TRAITS, TargetTraits, offsets_of
from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64

CENTRE, ALONE = "centre", "alone"


@dataclass(frozen=True)
class CentredCorrection:
    """h(t) − c: offsets comparable with the stored ones. c is the mean of those that were computed first.

    Offsets that stand `alone` are held back before.
    """

    fitted: FittedCorrection
    constant: float
    alone: StandingAlone | None = None

    @classmethod
    def from_state(cls, fitted: FittedCorrection, state: StateArrays) -> Self:
        """Restore what `state` gave beside that of the fit."""
        alone = state.get(ALONE)
        return cls(fitted, float(state[CENTRE]), None if alone is None else StandingAlone(*alone.tolist()))

    @property
    def details(self) -> Details:
        return self.fitted.details

    def offsets(self, targets: Rows, advance: Advance = no_progress, traits: TargetTraits = NO_TRAITS) -> F32:
        """H of each target, (n,), with its target prior, in the unit of the prior of the fit, or its group.

        Without a prior all count as the median. Raises `InputError` if the fit knew no such trait, or without groups
        if the correction was fitted by them.
        """
        offsets = offsets_of(self.fitted, targets, traits, advance)
        if self.alone is not None:
            offsets = self.alone.held_back(offsets)
        return (offsets - self.constant).astype(np.float32)

    def prior(self, targets: Rows, offsets: F32, usual: float) -> TargetPrior:
        """Return the target prior by which targets (n, d) have their offsets (n,).

        `usual` is that of targets whose own nobody knew, and of those whose offset was held back.
        Raises `InputError` if the prior adds nothing to any, as nothing was corrected.
        """
        of_fold = prior_offsets(self.fitted, np.array([np.e * usual]))[0]
        if not of_fold:
            raise InputError("collection", "one whose target prior shows in its offsets; build it again", "another")
        told = offsets + self.constant
        held = np.zeros(len(told), bool) if self.alone is None else np.isclose(told, self.alone.usual)
        more: F64 = np.where(held, 0.0, told - offsets_of(self.fitted, targets))
        return TargetPrior(usual * np.exp(more / of_fold), usual)

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> QueryTime | None:
        return self.fitted.query_time(targets, advance)

    def __repr__(self) -> str:
        return f"<{self.fitted!r} less {self.constant:.4g}>"

    def state(self) -> State:
        alone = {} if self.alone is None else {ALONE: np.array(astuple(self.alone))}
        return self.fitted.state() | {CENTRE: np.array(self.constant)} | alone
