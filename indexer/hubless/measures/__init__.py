"""Measures of ranking quality and of hubness: m queries, n targets, k neighbours. Ranks start at 1."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hubless.errors import not_installed
from hubless.measures.drift import drift_advice as drift_advice, energy_drift as energy_drift
from hubless.measures.likeness import reciprocity as reciprocity
from hubless.measures.occurrence import (
    antihub_occurrence as antihub_occurrence,
    entropy as entropy,
    k_occurrence as k_occurrence,
    mean_deviation as mean_deviation,
    robin_hood as robin_hood,
    skewness as skewness,
)
from hubless.measures.significance import (
    Interval as Interval,
    McNemar as McNemar,
    PairedDifference as PairedDifference,
    bootstrap_means as bootstrap_means,
    mcnemar as mcnemar,
    paired_difference as paired_difference,
)


def __getattr__(name: str) -> Any:
    """Measures of the lab, such as `ndcg_at`, which are there where it is installed."""
    if name.startswith("_") or find_spec(f"{__name__}.{name}"):  # a room that is about to be imported
        raise AttributeError(name)
    try:
        return getattr(import_module("hubless_lab.measures"), name)
    except ModuleNotFoundError as error:
        if error.name != "hubless_lab":
            raise
        raise not_installed(f"hubless.measures.{name}", "lab") from None
