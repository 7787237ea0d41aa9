"""Picks the kinds of index to try, by the number of targets, memory and latency. docs/indexes.md has measurements."""

from collections.abc import Mapping

from hubless.errors import InputError
from hubless.knn.aims import Aims
from hubless.knn.base import IndexType

AUTO = "auto"
FLAT_BYTES = 16 * 2**20
"""Up to this size (8,000 vectors of 512 dimensions) an exact scan takes about a millisecond and needs no tuning."""
VARIANTS = {
    "flat": ("flat", "flat_fp16"),
    "fastscan": ("fastscan", "fastscan_fp16"),
    "ivf_fastscan": ("ivf_fastscan", "ivf_fastscan_fp16"),
    "hnsw": ("hnsw", "hnsw_fp16"),
}
"""`auto` takes the first kind of a family that fits into the memory."""


def kinds_to_try(
    name: str, indexes: Mapping[str, IndexType], count: int, dim: int, aims: Aims
) -> tuple[list[IndexType], list[str]]:
    """Return the kinds to build, in turn until one reaches the aims, and notes on the choice.

    `name` may be "auto"; `dim` is that of the augmented vectors. Raises `InputError` if the memory is too small for
    all.
    """
    if name == AUTO:
        choices = [[indexes[each] for each in VARIANTS[family]] for family in _families(count, dim, aims)]
        choices = [kinds for kinds in choices if count >= kinds[0].least]
    else:
        choices = [[indexes[name]]]
    notes = []
    if count < choices[0][0].least:
        notes.append(f"flat instead of {name}, which needs {choices[0][0].least} targets to train on")
        choices = [[indexes[each] for each in VARIANTS["flat"]]]
    fitting = [
        next(kind for kind in kinds if _fits(kind, count, dim, aims))
        for kinds in choices
        if any(_fits(kind, count, dim, aims) for kind in kinds)
    ]
    if not fitting:
        smallest = min((kind for kinds in choices for kind in kinds), key=lambda kind: kind.size(count, dim))
        needed = f"at least {smallest.size(count, dim):,} bytes, what index {smallest.name} takes for {count:,} targets"
        raise InputError("memory", needed, f"{aims.memory:,}")
    return fitting, notes


def _families(count: int, dim: int, aims: Aims) -> list[str]:
    small = 4 * count * dim <= FLAT_BYTES
    if aims.latency_ms is None:
        return ["flat"] if small else ["fastscan", "flat"]
    return [*(["flat"] if small else []), "fastscan", "ivf_fastscan", "hnsw", *([] if small else ["flat"])]


def _fits(kind: IndexType, count: int, dim: int, aims: Aims) -> bool:
    return aims.memory is None or kind.size(count, dim) <= aims.memory
