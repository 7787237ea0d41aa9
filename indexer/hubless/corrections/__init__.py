"""Corrections: methods that estimate how much of a hub each target is. Their names are stored in bundles."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from hubless.corrections.base import (
    Correction as Correction,
    Details as Details,
    FittedCorrection as FittedCorrection,
    QueryTime as QueryTime,
    under as under,
)
from hubless.corrections.folded.auto import Auto
from hubless.corrections.folded.dual_softmax import DualInvertedSoftmax, FittedDualSoftmax
from hubless.corrections.folded.given import FittedGiven, GivenOffsets
from hubless.corrections.folded.local_centres import DisSimLocal, FittedLocalCentres
from hubless.corrections.folded.means import Centring, DistributionNormalisation, FittedMean
from hubless.corrections.folded.neighbours import Csls, FittedNeighbours as FittedNeighbours, Nnn
from hubless.corrections.folded.none import FittedNone, NoCorrection
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.folded.softmax import FittedSoftmax as FittedSoftmax, InvertedSoftmax
from hubless.corrections.gated.dis import DynamicInvertedSoftmax, FittedGatedSoftmax
from hubless.corrections.gated.dual_dis import DualDynamicInvertedSoftmax, FittedDualGated, GatedFactors
from hubless.corrections.installed import Registered as Registered, entries_by_name, load
from hubless.corrections.query_time import Gate as Gate, corrected_scores as corrected_scores
from hubless.corrections.roles import OWN_OFFSETS
from hubless.corrections.single_query import FittedSingleQuery, JoinedSinkhorn, SingleQuerySinkhorn
from hubless.errors import InputError
from hubless.vectors.comparing import COSINE

GIVEN = OWN_OFFSETS.name
"""The correction of offsets that are given, as GIVEN:FILE or GIVEN:COLUMN."""

_TABLE: dict[str, tuple[Any, type[FittedCorrection], type[QueryTime] | None]] = {
    "auto": (Auto, FittedSoftmax, None),
    "none": (NoCorrection, FittedNone, None),
    "nnn": (Nnn, FittedNeighbours, None),
    "csls": (Csls, FittedNeighbours, None),
    "is": (InvertedSoftmax, FittedSoftmax, None),
    "sn": (SinkhornNormalisation, FittedSoftmax, None),
    "dbsn": (DualBankSinkhorn, FittedSoftmax, None),
    "dual_is": (DualInvertedSoftmax, FittedDualSoftmax, None),
    "dn": (DistributionNormalisation, FittedMean, None),
    "cent": (Centring, FittedMean, None),
    "dissimlocal": (DisSimLocal, FittedLocalCentres, None),
    "dis": (DynamicInvertedSoftmax, FittedGatedSoftmax, Gate),
    "dual_dis": (DualDynamicInvertedSoftmax, FittedDualGated, GatedFactors),
    "sinkhorn": (SingleQuerySinkhorn, FittedSingleQuery, JoinedSinkhorn),
}
"""By name: the method, its fitted form, and its work on a live query beyond the folded offsets."""


_GIVEN: dict[str, tuple[Any, type[FittedCorrection], None]] = {GIVEN: (GivenOffsets, FittedGiven, None)}
"""Not fitted on queries: so it is no method to compare, tune or take by its name alone."""
OURS = frozenset({**_TABLE, **_GIVEN})


def _names() -> list[str]:
    return [*_TABLE, *entries_by_name(OURS)]


class _Methods(Mapping[str, Any]):
    """Methods by name: ours, then those of installed packages, which are loaded when they are taken."""

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return registered(name).method

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


CORRECTIONS = _Methods()


def registered(name: str) -> Registered:
    """Return what a name stands for, here or in an installed package. Raises `InputError` for an unknown one."""
    if name in OURS:
        return Registered(*(_GIVEN.get(name) or _TABLE[name]))
    if entries := entries_by_name(OURS).get(name):
        return load(tuple(entries))
    raise InputError("correction", f"one of {', '.join(CORRECTIONS)}, or {GIVEN}:FILE", name)


def folds(name: str) -> bool:
    """Return if a correction of this name is one offset a target and nothing more, whatever its parameters."""
    return registered(name).live is None


def is_given(name: str) -> bool:
    """Return if a correction is offsets that are given, in a file or a column perhaps, and no method fits."""
    return name.partition(":")[0] == GIVEN


def name_of(method: Correction) -> str:
    """Return the name that a correction is stored by. Raises `InputError` for one that is not registered."""
    for name in CORRECTIONS:
        with suppress(InputError):  # of a package that cannot be loaded, which is not the method's
            if registered(name).method is type(method):
                return name
    raise InputError("correction", "one with a name: that of an entry point in hubless.corrections", repr(method))


def correction(name: str, parameters: Mapping[str, Any] | None = None, metric: str = COSINE) -> Correction:
    """The correction of this name with these parameters, for vectors that are compared by this metric.

    Raises `InputError` for an unknown one, naming those known.
    """
    method = registered(name).method
    given = dict(parameters or {})
    known = [field.name for field in fields(method)]
    for parameter in given:
        if parameter not in known:
            expected = f"one of {', '.join(known)}" if known else "no parameters"
            raise InputError(f"parameter of {name}", expected, parameter)
    made: Correction = method(**given)
    return under(made, metric)
