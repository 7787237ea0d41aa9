"""Corrections: methods that estimate how much of a hub each target is. One file a method or family.

A name is stored in bundles, so it never changes.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hubless.corrections.base import Correction, FittedCorrection, Rows
from hubless.corrections.folded.auto import Auto
from hubless.corrections.folded.dual_softmax import DualInvertedSoftmax, FittedDualSoftmax
from hubless.corrections.folded.means import Centring, DistributionNormalisation, FittedMean
from hubless.corrections.folded.neighbours import Csls, FittedNeighbours, Nnn
from hubless.corrections.folded.none import FittedNone, NoCorrection
from hubless.corrections.folded.sinkhorn import DualBankSinkhorn, SinkhornNormalisation
from hubless.corrections.folded.softmax import FittedSoftmax, InvertedSoftmax
from hubless.corrections.gated.dis import DynamicInvertedSoftmax, FittedGatedSoftmax
from hubless.corrections.gated.dual_dis import DualDynamicInvertedSoftmax, FittedDualGated, GatedFactors
from hubless.corrections.query_time import Details, Gate, QueryTime, Rescorer, State, corrected_scores
from hubless.corrections.rescored.dual_softmax_loss import (
    DualSoftmaxLoss,
    FittedDualSoftmaxLoss,
    SimilarityTimesSoftmax,
)
from hubless.corrections.rescored.globally_corrected import FittedBank, GloballyCorrected, RankAmongBank
from hubless.corrections.rescored.local_scaling import FittedLocalScaling, LocalScaling, Nicdm, ScaledDistances
from hubless.corrections.rescored.mutual_proximity import FittedMutualProximity, MutualProximities, MutualProximity
from hubless.corrections.rescored.single_query import FittedSingleQuery, JoinedSinkhorn, SingleQuerySinkhorn
from hubless.errors import InputError

CORRECTIONS: dict[str, Any] = {
    "auto": Auto,
    "none": NoCorrection,
    "nnn": Nnn,
    "csls": Csls,
    "is": InvertedSoftmax,
    "sn": SinkhornNormalisation,
    "dbsn": DualBankSinkhorn,
    "dual_is": DualInvertedSoftmax,
    "dn": DistributionNormalisation,
    "cent": Centring,
    "dis": DynamicInvertedSoftmax,
    "dual_dis": DualDynamicInvertedSoftmax,
    "gc": GloballyCorrected,
    "dsl": DualSoftmaxLoss,
    "sinkhorn": SingleQuerySinkhorn,
    "ls": LocalScaling,
    "nicdm": Nicdm,
    "mp": MutualProximity,
}

FITTED: dict[str, type[FittedCorrection]] = {
    "auto": FittedSoftmax,
    "none": FittedNone,
    "nnn": FittedNeighbours,
    "csls": FittedNeighbours,
    "is": FittedSoftmax,
    "sn": FittedSoftmax,
    "dbsn": FittedSoftmax,
    "dual_is": FittedDualSoftmax,
    "dn": FittedMean,
    "cent": FittedMean,
    "dis": FittedGatedSoftmax,
    "dual_dis": FittedDualGated,
    "gc": FittedBank,
    "dsl": FittedDualSoftmaxLoss,
    "sinkhorn": FittedSingleQuery,
    "ls": FittedLocalScaling,
    "nicdm": FittedLocalScaling,
    "mp": FittedMutualProximity,
}

QUERY_TIMES: dict[str, type[Gate] | type[Rescorer]] = {
    "dis": Gate,
    "dual_dis": GatedFactors,
    "gc": RankAmongBank,
    "dsl": SimilarityTimesSoftmax,
    "sinkhorn": JoinedSinkhorn,
    "ls": ScaledDistances,
    "nicdm": ScaledDistances,
    "mp": MutualProximities,
}
"""Functions that restore the query-time part of a correction, by its name."""

__all__ = [
    "CORRECTIONS",
    "FITTED",
    "QUERY_TIMES",
    "Correction",
    "Details",
    "FittedCorrection",
    "FittedNeighbours",
    "FittedSoftmax",
    "Gate",
    "QueryTime",
    "Rescorer",
    "Rows",
    "State",
    "corrected_scores",
    "correction",
]


def correction(name: str, parameters: Mapping[str, Any] | None = None) -> Correction:
    """The correction of this name with these parameters, the others at their defaults.

    Raises `InputError` for an unknown name or parameter, naming the known ones, and for a value that the correction
    refuses.
    """
    if name not in CORRECTIONS:
        raise InputError("correction", f"one of {', '.join(CORRECTIONS)}", name)
    given = dict(parameters or {})
    known = [field.name for field in fields(CORRECTIONS[name])]
    for parameter in given:
        if parameter not in known:
            expected = f"one of {', '.join(known)}" if known else "no parameters"
            raise InputError(f"parameter of {name}", expected, parameter)
    made: Correction = CORRECTIONS[name](**given)
    return made
