"""Aims of an index: recall, memory and latency."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ByteSize, TypeAdapter, ValidationError

from hubless.errors import InputError
from hubless.vectors.arrays import check_between

RECALL = 0.99
_MILLISECONDS = {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1000.0}
_LATENCY = re.compile(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(us|µs|ms|s)\s*")


@dataclass(frozen=True)
class Aims:
    """Goals that decide the kind of index and its search parameters; None sets no limit.

    Recall is a share of the exact top 10, memory is in bytes, latency is that of a single query on one thread.
    """

    recall: float = RECALL
    memory: int | None = None
    latency_ms: float | None = None


def parse_aims(recall: float, memory: int | str | None, latency: float | str | None) -> Aims:
    """Read the aims that a user gave. Raises `InputError`.

    Memory may be a text such as "4GB", and latency one such as "2ms".
    """
    check_between("recall", recall, 0, 1, open_low=True)
    return Aims(
        float(recall),
        None if memory is None else _bytes(memory),
        None if latency is None else _milliseconds(latency),
    )


def _bytes(memory: Any) -> int:
    try:
        size = int(TypeAdapter(ByteSize).validate_python(memory))
    except ValidationError:
        size = 0
    if size <= 0 or isinstance(memory, bool):
        raise InputError("memory", "a number of bytes, such as 4GB, 512MiB or 1000000", repr(memory))
    return size


def _milliseconds(latency: Any) -> float:
    value: Any = latency
    if isinstance(latency, str):
        match = _LATENCY.fullmatch(latency)
        try:
            value = float(match[1]) * _MILLISECONDS[match[2]] if match else 0.0
        except ValueError:
            value = 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InputError("latency", "a time, such as 2ms, 0.5s, or a number of milliseconds", repr(latency))
    return float(value)
