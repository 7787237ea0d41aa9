"""Vectors as requests carry them: little-endian float32, made from any container of numbers, without numpy.

Shape letters: m queries, d dimensions.
"""

import sys
from array import array
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from hubless_client.errors import CannotSend

REAL_KINDS = "biuf"  # numpy's kinds of real numbers; not complex, text, objects

# How buffers name this machine's float32. ctypes writes the byte order.
NATIVE_FLOATS = {"f", "<f" if sys.byteorder == "little" else ">f"}


class SupportsArray(Protocol):
    """An array that numpy can read: its own, PyTorch and JAX tensors, columns of pandas."""

    def __array__(self) -> Any: ...


VectorLike: TypeAlias = Sequence[float] | SupportsArray
"""d real numbers, shape (d,)."""
MatrixLike: TypeAlias = Sequence[VectorLike] | SupportsArray
"""m vectors of one length, shape (m, d)."""


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

    def in_base64(self) -> list[str]:
        """Each row, as JSON takes it."""
        size = 4 * self.dim
        return [in_base64(self.data[size * row : size * (row + 1)]) for row in range(self.rows)]


def in_base64(packed: bytes) -> str:
    """A vector, or a picture, inside of JSON. It takes a third of the space of a list of numbers."""
    return b64encode(packed).decode("ascii")


def pack_one(vector: VectorLike, name: str = "vector") -> bytes:
    """One vector, shape (d,), as d·4 bytes. Errors call it `name`.

    Raises
    ------
    CannotSend : it has more axes than one, or holds something that is not a real number
    """
    data, shape = _packed(vector, name)
    if len(shape) != 1:
        raise CannotSend(f"{name}: expected one axis, got shape {shape}")
    return data


def pack_many(vectors: MatrixLike) -> Packed:
    """Vectors of one length, shape (m, d), as m·d·4 bytes.

    Raises
    ------
    CannotSend : the rows differ in length, or as in `pack_one`
    """
    if hasattr(vectors, "__array__") or _is_buffer(vectors):
        data, shape = _packed(vectors, "vectors")
        if len(shape) != 2:
            raise CannotSend(f"vectors: expected two axes, got shape {shape}")
        return Packed(data, *shape)
    if isinstance(vectors, str) or not isinstance(vectors, Sequence):
        raise CannotSend(f"vectors: expected rows of numbers, got {type(vectors).__name__}")
    rows = [pack_one(row, f"vectors, row {number}") for number, row in enumerate(vectors)]
    lengths = [len(row) // 4 for row in rows]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            raise CannotSend(f"vectors: row 0 has {lengths[0]} numbers, row {number} has {length}")
    return Packed(b"".join(rows), len(rows), lengths[0] if rows else 0)


def as_array(numbers: list[float] | None) -> "array[float] | None":
    """A vector of an answer as float32, shape (d,); None if the answer has none."""
    return None if numbers is None else array("f", numbers)


def _packed(numbers: Any, name: str) -> tuple[bytes, tuple[int, ...]]:
    if isinstance(numbers, (str, bytes, bytearray)):
        # array("f", b"...") would read the bytes as floats, whatever they are.
        raise CannotSend(f"{name}: expected real numbers, got {type(numbers).__name__}")
    try:
        if hasattr(numbers, "__array__"):
            return _from_numpy(numbers.__array__())
        if _is_buffer(numbers):
            return _from_buffer(memoryview(numbers))
        floats = array("f", numbers)
        return _little_endian(floats), (len(floats),)
    # A foreign container may raise anything.
    except Exception as error:
        raise CannotSend(f"{name}: expected real numbers, got {type(numbers).__name__} ({error})") from error


def _from_numpy(numbers: Any) -> tuple[bytes, tuple[int, ...]]:
    if numbers.dtype.kind not in REAL_KINDS:
        raise TypeError(f"dtype {numbers.dtype}")
    return numbers.astype("<f4", copy=False).tobytes(), numbers.shape


def _from_buffer(view: memoryview) -> tuple[bytes, tuple[int, ...]]:
    if view.format in NATIVE_FLOATS:
        floats = array("f", view.tobytes())  # array() copies bytes at once, and iterates over a memoryview
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
