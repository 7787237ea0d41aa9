"""Vectors from what clients send: a list of numbers, base64, or plain bytes. No Python runs per number."""

import binascii
from functools import lru_cache
from struct import Struct

import numpy as np

import hubless
from hubless.errors import DimensionMismatch, InputError
from hubless.vectors.arrays import F32

_ITEM = np.dtype("<f4")


def from_numbers(numbers: list[float]) -> F32:
    """A vector (d,) from floats; one that float32 cannot hold becomes infinite."""
    return np.frombuffer(_packed(len(numbers)).pack(*numbers), np.float32)  # in a third of the time of np.array


@lru_cache(64)
def _packed(dim: int) -> Struct:
    return Struct(f"{dim}f")


def from_base64(text: str) -> F32:
    """A vector (d,) from base64 of little-endian float32.

    Raises
    ------
    InputError
        saying what is wrong with the base64.
    """
    expected = "base64 of little-endian float32"
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise InputError("", expected, f"a string that is not: {error}") from error
    if len(data) % _ITEM.itemsize:
        raise InputError("", f"{expected}, 4 bytes a number", f"{len(data)} bytes")
    return np.frombuffer(data, _ITEM)


def from_body(body: bytes, collection: hubless.Collection, rows: int | None = None) -> F32:
    """The prepared vectors (m, d) that make up a binary body: little-endian float32, row after row.

    Parameters
    ----------
    rows : how many there must be; any number if None

    Raises
    ------
    DimensionMismatch, NotFinite, ZeroVector
        where the collection cannot be asked for them.
    """
    width = _ITEM.itemsize * collection.dim
    if len(body) % width or (rows is not None and len(body) != rows * width):
        expected = f'{collection.dim} dimensions, as collection "{collection.name}" has: {width} bytes'
        raise DimensionMismatch("body", expected if rows == 1 else f"{expected} each", f"{len(body)} bytes")
    return collection.prepare(np.frombuffer(body, _ITEM).reshape(-1, collection.dim), "body")
