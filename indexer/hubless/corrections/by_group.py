"""A correction fitted for each group of targets, such as each tenant, on the queries of this group alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from hubless.corrections import name_of, registered
from hubless.corrections.base import (
    Correction,
    Details,
    Fitted,
    FittedCorrection,
    Rows,
    State,
    StateArrays,
    targets_beside,
)
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.grouped import GroupedVectors, coded, rows_by_group
from hubless.corrections.roles import Names
from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HeldVectors, TakenVectors, VectorSource, column_of, in_memory

_FEWEST = 2
"""A group of fewer queries is not corrected."""
_BANK, _GROUPS, _CODES = "bank", "groups", "group_of_query"


@dataclass(frozen=True, repr=False)
class FittedByGroup(Fitted):
    """Fits by the name of the group, each centred over its targets. Targets of other groups have offset 0.

    `bank` (b, d) has the queries of all groups, also of those that have no targets yet. `uncorrected` are targets, at
    the fit, of groups that have no fit, and `fitted_groups` of how many groups there are fits.
    """

    correction: str
    bank: GroupedVectors
    fits: Mapping[str, CentredCorrection]
    uncorrected: int = 0

    @property
    def details(self) -> Details:
        """Queries and groups of the fit, and the targets whose group has none."""
        found: Details = {
            "bank_queries": self.bank.shape[0],
            "groups": len(rows_by_group(self.bank.groups)),
            "fitted_groups": len(self.fits),
            "uncorrected": self.uncorrected,
        }
        if self.uncorrected:
            found["note"] = f"{self.uncorrected:,} targets are not corrected, as their group has no or too few queries"
        return found

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        raise InputError("fit_by", "the group of each target, as each is corrected by its own queries", "none")

    def of_groups(self, targets: Rows, groups: Names, advance: Advance = no_progress) -> F32:
        """H of each target of a group, (n,); 0 where its group has no fit."""
        source = targets_beside(self.bank, targets)
        found = np.zeros(source.shape[0], np.float32)
        for name, rows in rows_by_group(groups).items():
            if (fit := self.fits.get(name)) is not None:
                found[rows] = fit.offsets(TakenVectors(source, rows, source.name))
        advance(len(found))
        return found

    def state(self) -> State:
        names, codes = coded(self.bank.groups)
        fits = {name: fit.details for name, fit in self.fits.items()}
        described = {"correction": self.correction, "names": names, "fits": fits}
        arrays: State = {
            _BANK: in_memory(self.bank),
            _CODES: codes.astype(np.int32),
            _GROUPS: np.frombuffer(json.dumps(described).encode(), np.uint8),
        }
        for number, fit in enumerate(self.fits.values()):
            arrays |= {f"{number}.{name}": each for name, each in fit.state().items() if name != _BANK}
        return arrays

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        described = json.loads(state[_GROUPS].tobytes())
        groups = np.array(described["names"], object)[state[_CODES]]
        bank = GroupedVectors(np.asarray(state[_BANK], np.float32), "query bank", groups)
        asked = rows_by_group(groups)
        kind = registered(described["correction"]).fitted
        fits = {}
        for number, (name, its_details) in enumerate(described["fits"].items()):
            own = {key.removeprefix(f"{number}."): each for key, each in state.items() if key.startswith(f"{number}.")}
            fitted = kind.from_state(own | {_BANK: bank.take(asked[name])}, its_details)
            fits[name] = CentredCorrection.from_state(fitted, own)
        return cls(described["correction"], bank, fits, details["uncorrected"])


def restored(name: str, state: StateArrays, details: Details) -> FittedCorrection:
    """Restore what the fit of a correction of this name, or the fits by group, gave as `state` and `details`."""
    return (FittedByGroup if _GROUPS in state else registered(name).fitted).from_state(state, details)


def fit_by_group(
    method: Correction, banks: Sequence[VectorSource], targets: VectorSource, groups: Names
) -> list[FittedByGroup]:
    """Fit a correction, on each of some banks (b, d) with groups, for each group of targets (n, d).

    A group that has fewer queries than the correction needs gets no fit. Raises `InputError` as `Correction.fit`.
    """
    name = name_of(method)
    of_banks = [column_of(bank, "groups") for bank in banks]
    asked = list(map(rows_by_group, of_banks))
    fits: list[dict[str, CentredCorrection]] = [{} for _ in banks]
    of_targets = rows_by_group(groups)
    for group, rows in of_targets.items():
        own = TakenVectors(targets, rows, targets.name)
        for number, bank in enumerate(banks):
            if (fit := _fitted(method, bank, asked[number].get(group, rows[:0]), own)) is not None:
                fits[number][group] = fit
    return [
        FittedByGroup(
            name,
            GroupedVectors(in_memory(bank), bank.name, of_banks[number]),
            fits[number],
            len(groups) - sum(len(of_targets[group]) for group in fits[number]),
        )
        for number, bank in enumerate(banks)
    ]


def _fitted(method: Correction, bank: VectorSource, rows: I64, targets: VectorSource) -> CentredCorrection | None:
    if len(rows) < _FEWEST:
        return None
    queries = HeldVectors(bank.take(rows), bank.name)
    try:
        fitted = method.fit(queries, targets)
    except InputError as error:
        if error.parameter != bank.name:
            raise
        return None  # too few for this correction
    return CentredCorrection(fitted, float(fitted.offsets(targets).mean(dtype=np.float64)))
