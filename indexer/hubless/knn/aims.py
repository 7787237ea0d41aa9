"""Aims of an index: recall, memory and latency; and the kinds to try for them. docs/indexes.md has measurements."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from hubless.errors import InputError
from hubless.knn.base import IndexType
from hubless.vectors.arrays import check_between

RECALL = 0.99
_MILLISECONDS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1000.0}
_LATENCY = re.compile(r"\s*(\d*\.?\d+(?:e-?\d+)?)\s*(us|µs|ms|s)\s*")
_BYTES = re.compile(r"\s*(\d*\.?\d+)\s*([kmgtpe]?)(i?)b?\s*", re.IGNORECASE)
AUTO = "auto"
FLAT_BYTES = 16 * 2**20
"""Up to this size (8,000 vectors of 512 dimensions) an exact scan takes about a millisecond and needs no tuning."""
VARIANTS = {
    "flat": ("flat", "flat_fp16"),
    "fastscan": ("fastscan", "fastscan_fp16"),
    "ivf_fastscan": ("ivf_fastscan", "ivf_fastscan_fp16"),
    "hnsw_sq8": ("hnsw_sq8",),
}
"""`auto` takes the first kind of a family that fits into the memory."""
MEASURED_FROM = 50_000
"""From this number of targets on, the ways to build a kind are measured beside each other."""


@dataclass(frozen=True)
class Aims:
    """Recall of the exact top 10, bytes of memory, and latency of a single query on one thread; None sets no limit."""

    recall: float = RECALL
    memory: int | None = None
    latency_ms: float | None = None


def parse_aims(recall: float, memory: int | str | None, latency: float | str | None) -> Aims:
    """Read the aims that a user gave: memory may be a text such as "4GB", and latency one such as "2ms"."""
    check_between("recall", recall, 0, 1, open_low=True)
    return Aims(
        float(recall),
        None if memory is None else _bytes(memory),
        None if latency is None else _milliseconds(latency),
    )


def _bytes(memory: Any) -> int:
    match = _BYTES.fullmatch(str(memory))
    size = 0.0
    if match is not None:
        size = float(match[1]) * (1024 if match[3] else 1000) ** " kmgtpe".index(match[2].lower() or " ")
    if not 1 <= size < inf:
        raise InputError("memory", "a number of bytes, such as 4GB, 512MiB or 1000000", repr(memory))
    return int(size)


def _milliseconds(latency: Any) -> float:
    match = _LATENCY.fullmatch(latency) if isinstance(latency, str) else None
    value = float(match[1]) * _MILLISECONDS[match[2]] if match else latency
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise InputError("latency", "a time, such as 2ms, 0.5s, or a number of milliseconds", repr(latency))
    return float(value)


def kinds_to_try(
    name: str, indexes: Mapping[str, IndexType], count: int, dim: int, aims: Aims
) -> tuple[list[list[IndexType]], list[str]]:
    """Return groups of kinds to build for vectors of `dim` dimensions, and notes.

    Of a group the fastest is taken that reaches the aims; the next group is for where none does.
    """
    notes = []
    if name == AUTO:
        groups = [group for group in _groups(count, dim, aims) if count >= indexes[group[0][0]].least]
    elif count >= indexes[name].least:
        groups = [[(name,)]]
    else:
        notes = [f"flat instead of {name}, which needs {indexes[name].least} targets to train on"]
        groups = [[VARIANTS["flat"]]]
    fitting = [
        [way for family in group for way in _ways([indexes[each] for each in family], count, dim, aims)]
        for group in groups
    ]
    if not any(fitting):
        sizes = {indexes[each].size(count, dim): each for group in groups for family in group for each in family}
        least = min(sizes)
        needed = f"at least {least:,} bytes, what index {sizes[least]} takes for {count:,} targets"
        raise InputError("memory", needed, f"{aims.memory:,}")
    return [group for group in fitting if group], notes


def _groups(count: int, dim: int, aims: Aims) -> list[list[tuple[str, ...]]]:
    """Return families to build, in groups."""
    small = 4 * count * dim <= FLAT_BYTES
    soon = aims.latency_ms is not None
    groups = [["flat"]] if small else []
    if soon or not small:
        groups.append(["fastscan", "ivf_fastscan"] if soon or count >= MEASURED_FROM else ["fastscan"])
    if soon:
        groups.append(["hnsw_sq8"])
    if not small:
        groups.append(["flat"])
    return [[VARIANTS[each] for each in group] for group in groups]


def _ways(family: Sequence[IndexType], count: int, dim: int, aims: Aims) -> list[IndexType]:
    """Return the ways to build the first kind of a family that fits into the memory; none if no kind does."""
    for kind in family:
        if _fits(kind, count, dim, aims):
            ways = kind.variants(dim) if count >= MEASURED_FROM else [kind]
            return [way for way in ways if _fits(way, count, dim, aims)]
    return []


def _fits(kind: IndexType, count: int, dim: int, aims: Aims) -> bool:
    return aims.memory is None or kind.size(count, dim) <= aims.memory
