"""Gates of a diagnosis, by which a pipeline fails: bounds of the raw ranking, or what another diagnosis measured."""

from collections.abc import Mapping
from typing import Any

from hubless.diagnosing.diagnosis import MAIN
from hubless.errors import InputError
from hubless.jobs.gates import GateResult
from hubless.vectors.readers.columns import read_column

Bounds = Mapping[str, float | str]
"""By gate, `max_skewness` of N_10 or `min_recall_at_1`, a share: a number, or what `hubless diagnose --json` said."""
_PLACES: Any = {
    "max_skewness": lambda found: found["depths"][MAIN][-1]["raw"]["skewness"],
    "min_recall_at_1": lambda found: found["gain"]["raw"],
}


def read_bounds(gates: Bounds) -> dict[str, float]:
    """Return the bounds as numbers. Raises `InputError` for an unknown gate, and for a file of something else."""
    for gate in gates.keys() - _PLACES.keys():
        raise InputError("gates", " or ".join(_PLACES), gate)
    return {
        gate: _measured(gate, read_column(bound, "gates").values) if isinstance(bound, str) else bound
        for gate, bound in gates.items()
    }


def failed_gates(bounds: Mapping[str, float], diagnosis: Any) -> list[GateResult]:
    """Return the gates that a diagnosis, as JSON, does not pass. Raises `InputError` for R@1 without labels."""
    found = [(gate, _measured(gate, diagnosis), bound) for gate, bound in bounds.items()]
    return [
        GateResult(*each, False) for each in found if each[1] * (sign := 1 - 2 * ("min" in each[0])) > each[2] * sign
    ]


def _measured(gate: str, diagnosis: Any) -> Any:
    try:
        return _PLACES[gate](diagnosis)
    except (LookupError, TypeError) as error:
        raise InputError("gates", "a diagnosis that measures it: R@1 takes 50 labels", gate) from error
