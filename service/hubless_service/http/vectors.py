"""Vectors from what clients send: a list of numbers, base64, or plain bytes. No Python runs per number."""

import binascii
from collections.abc import Callable
from typing import Any

import numpy as np

import hubless
from hubless.arrays import F32
from hubless.errors import DimensionMismatch, InputError, NotFinite, ZeroVector
from hubless_service.http.problems import describe

_ITEM = np.dtype("<f4")
_NUMBERS = {int, float}  # exact types: a bool is an int to isinstance


def from_json(value: Any, name: str, collection: hubless.Collection) -> F32:
    """Read one vector from a JSON value: a list of numbers, or a string of base64.

    Parameters
    ----------
    value : whatever stands in the document
    name : the field's name, for errors

    Returns
    -------
    (d,) float32

    Raises
    ------
    InputError
        naming the first element that is not a number, or saying what is wrong with the base64.
    DimensionMismatch, NotFinite, ZeroVector
        where the collection cannot be asked for it.
    """
    vector = _from_base64(value, name) if isinstance(value, str) else _from_list(value, name)
    if len(vector) != collection.dim:
        raise DimensionMismatch(name, _dimensions(collection), f"{len(vector)} dimensions")
    _check(vector[np.newaxis], lambda row: name, collection)
    return vector


def from_bytes(body: bytes, collection: hubless.Collection, rows: int | None = None) -> F32:
    """Read the vectors that make up a binary body.

    Parameters
    ----------
    body : m·d·4 bytes, little-endian float32, row after row
    rows : how many there must be; any number if None

    Returns
    -------
    (m, d) float32

    Raises
    ------
    DimensionMismatch, NotFinite, ZeroVector
        where the collection cannot be asked for them.
    """
    width = _ITEM.itemsize * collection.dim
    if len(body) % width or (rows is not None and len(body) != rows * width):
        each = "" if rows == 1 else " each"
        raise DimensionMismatch("body", f"{_dimensions(collection)}: {width} bytes{each}", f"{len(body)} bytes")
    vectors = np.frombuffer(body, _ITEM).reshape(-1, collection.dim)
    _check(vectors, lambda row: "body" if rows == 1 else f"body, row {row}", collection)
    return vectors


def check_dim(dim: Any, collection: hubless.Collection) -> None:
    """Check what a request says of its vectors: two of a wrong dimension can be as long as three of the right one.

    Raises
    ------
    InputError
        if it is no whole number above 0.
    DimensionMismatch
    """
    if dim is None or (type(dim) is int and dim == collection.dim):
        return
    if type(dim) is not int or dim < 1:
        raise InputError("dim", "a whole number of at least 1", describe(dim))
    raise DimensionMismatch("dim", _dimensions(collection), f"{dim} dimensions")


def _from_list(value: Any, name: str) -> F32:
    if not isinstance(value, list):
        raise InputError(name, "a list of numbers, or a string of base64", describe(value))
    if not _NUMBERS.issuperset(map(type, value)):
        position = next(i for i, item in enumerate(value) if type(item) not in _NUMBERS)
        raise InputError(f"{name}[{position}]", "a number", describe(value[position]))
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and infinities are looked for
        return np.array(value, dtype=np.float32)


def _from_base64(value: str, name: str) -> F32:
    expected = "base64 of little-endian float32"
    try:
        data = binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise InputError(name, expected, f"a string that is not: {error}") from error
    if len(data) % _ITEM.itemsize:
        raise InputError(name, f"{expected}, 4 bytes a number", f"{len(data)} bytes")
    return np.frombuffer(data, _ITEM)


def _check(vectors: F32, name: Callable[[int], str], collection: hubless.Collection) -> None:
    if not (finite := np.isfinite(vectors)).all():
        row, column = np.argwhere(~finite)[0]
        raise NotFinite(
            f"{name(row)}[{column}]", "a finite number that fits float32", f"{vectors[row, column]} as float32"
        )
    if collection.metric == "cosine" and not (nonzero := vectors.any(axis=1)).all():
        row = int(np.argmin(nonzero))
        raise ZeroVector(name(row), "a vector of non-zero length, as the metric is cosine", "zeros only")


def _dimensions(collection: hubless.Collection) -> str:
    return f'{collection.dim} dimensions, as collection "{collection.name}" has'
