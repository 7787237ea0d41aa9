"""Rows of files that have vectors only: `.fvecs`, `.bvecs`, `.safetensors`, and indexes of Faiss."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, how_to_install, names_of, one_line
from hubless.vectors.arrays import as_float32, check_row_lengths
from hubless.vectors.sources import ArrayVectors, HeldVectors, VectorSource

_NUMBERS: dict[str, np.dtype[Any]] = {".fvecs": np.dtype("<f4"), ".bvecs": np.dtype("u1")}
_LENGTH = 4
"""Bytes before each row, which say its dimensions."""
_EXACT = ("IndexFlat", "IndexFlatL2", "IndexFlatIP", "IndexHNSWFlat")


def open_vecs(path: Path, name: str) -> VectorSource:
    """Return the rows of a file of TEXMEX: before each one its length, as int32."""
    number = _NUMBERS[path.suffix.lower()]
    size = path.stat().st_size
    with path.open("rb") as file:
        dim = int.from_bytes(file.read(_LENGTH), "little", signed=True)
    width = _LENGTH + dim * number.itemsize
    if dim < 1 or size % width:
        raise InputError(
            name, "rows of one length, each with its dimensions before it", f"{size} bytes, {dim} dimensions"
        )
    mapped = np.memmap(path, "u1", "r", shape=(size // width, width))
    lengths = mapped[:, :_LENGTH].copy().view("<i4")[:, 0]
    check_row_lengths(lengths, dim, name)
    rows = np.ndarray((len(mapped), dim), number, mapped, _LENGTH, (width, number.itemsize))
    return ArrayVectors(rows.view(np.memmap), name)


def open_safetensors(path: Path, name: str) -> VectorSource:
    """Return the matrix of a file of safetensors: the one named vectors, or the only one."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise InputError(name, f"the package safetensors: {how_to_install('static')}", "none") from error
    try:
        return ArrayVectors(_tensor(safe_open(path, framework="numpy"), name), name)
    except (SafetensorError, TypeError) as error:  # the latter for types that NumPy has not
        raise InputError(name, "a readable .safetensors file, of float16 or float32", one_line(error)) from error


def _tensor(opened: Any, name: str) -> NDArray[Any]:
    with opened as tensors:
        names = [each for each in tensors.keys() if len(tensors.get_slice(each).get_shape()) == 2]  # noqa: SIM118
        wanted = "vectors" if "vectors" in names else names[0] if len(names) == 1 else None
        if wanted is None:
            raise InputError(name, "a matrix named vectors, or a single matrix", f"matrices {names_of(names)}")
        found: NDArray[Any] = tensors.get_tensor(wanted)
        return found


def open_faiss(path: Path, name: str) -> tuple[VectorSource, pa.Array | None]:
    """Return the vectors of an index of Faiss that has them unchanged, and its ids if it has some."""
    index = faiss.read_index(str(path))
    kind = type(index).__name__
    ids = None
    inner = index
    if kind in ("IndexIDMap", "IndexIDMap2"):
        ids = pa.array(faiss.vector_to_array(index.id_map))
        inner = faiss.downcast_index(index.index)
    if (kind := type(inner).__name__) not in _EXACT:
        expected = f"an index that keeps vectors as they are ({', '.join(_EXACT)}, or an IDMap of one)"
        raise InputError(name, expected, kind)
    return HeldVectors(as_float32(inner.reconstruct_n(0, inner.ntotal), name), name), ids
