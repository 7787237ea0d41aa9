"""Vectors as they travel: little-endian float32, from whatever holds numbers, without needing numpy.

Shape letters: m queries, d dimensions.
"""

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from hubless_client.errors import CannotSend

REAL_KINDS = "biuf"  # numpy's kinds that float32 stands for without a change of meaning; not complex, text, objects

# How buffers name this machine's float32; ctypes spells out the byte order.
NATIVE_FLOATS = {"f", "<f" if sys.byteorder == "little" else ">f"}


class SupportsArray(Protocol):
    """What numpy can read: its own arrays, PyTorch and JAX tensors, pandas columns."""

    def __array__(self) -> Any: ...


Vector: TypeAlias = Sequence[float] | SupportsArray
Vectors: TypeAlias = Sequence[Vector] | SupportsArray


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of one length as little-endian float32.

    Attributes
    ----------
    data : m·d·4 bytes
    rows : m
    dim : d
    """

    data: bytes
    rows: int
    dim: int

    def row(self, number: int) -> bytes:
        """One row, d·4 bytes."""
        return self.data[4 * self.dim * number : 4 * self.dim * (number + 1)]


def pack_one(vector: Vector) -> bytes:
    """One vector, shape (d,), as d·4 bytes.

    Raises
    ------
    CannotSend : it has another number of axes, or holds something that is not a real number
    """
    data, shape = _packed(vector, "vector")
    if len(shape) != 1:
        raise CannotSend(f"vector: expected one axis, got shape {shape}")
    return data


def pack_many(vectors: Vectors) -> Packed:
    """Vectors of one length, shape (m, d), as m·d·4 bytes.

    Raises
    ------
    CannotSend : ragged, or as for `pack_one`
    """
    if hasattr(vectors, "__array__") or _is_buffer(vectors):
        data, shape = _packed(vectors, "vectors")
        if len(shape) != 2:
            raise CannotSend(f"vectors: expected two axes, got shape {shape}")
        return Packed(data, *shape)
    if isinstance(vectors, str) or not isinstance(vectors, Sequence):
        raise CannotSend(f"vectors: expected rows of numbers, got {type(vectors).__name__}")
    rows = [pack_one(row) for row in vectors]
    lengths = [len(row) // 4 for row in rows]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            raise CannotSend(f"vectors: row 0 has {lengths[0]} numbers, row {number} has {length}")
    return Packed(b"".join(rows), len(rows), lengths[0] if rows else 0)


def _packed(numbers: Any, name: str) -> tuple[bytes, tuple[int, ...]]:
    if isinstance(numbers, (str, bytes, bytearray)):
        # Raw bytes do not say what they hold, and array("f", b"...") would take them for floats.
        raise CannotSend(f"{name}: expected real numbers, got {type(numbers).__name__}")
    try:
        if hasattr(numbers, "__array__"):
            return _from_numpy(numbers.__array__())
        if _is_buffer(numbers):
            return _from_buffer(memoryview(numbers))
        floats = array("f", numbers)
        return _little_endian(floats), (len(floats),)
    # Whatever a foreign container raises when asked for its numbers: it did not give them.
    except Exception as error:
        raise CannotSend(f"{name}: expected real numbers, got {type(numbers).__name__} ({error})") from error


def _from_numpy(numbers: Any) -> tuple[bytes, tuple[int, ...]]:
    if numbers.dtype.kind not in REAL_KINDS:
        raise TypeError(f"dtype {numbers.dtype}")
    return numbers.astype("<f4", copy=False).tobytes(), numbers.shape


def _from_buffer(view: memoryview) -> tuple[bytes, tuple[int, ...]]:
    if view.format in NATIVE_FLOATS:
        floats = array("f", view.tobytes())  # from bytes array() copies, from a memoryview it would iterate
    else:
        flat: Any = view.cast("B").cast(view.format)  # type: ignore[call-overload]
        floats = array("f", flat)
    return _little_endian(floats), tuple(view.shape or ())


def _is_buffer(candidate: Any) -> bool:
    try:
        memoryview(candidate).release()
    except TypeError:
        return False
    return True


def _little_endian(floats: "array[float]") -> bytes:
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()
