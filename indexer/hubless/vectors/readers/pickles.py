"""Pickled NumPy arrays, as QB-Norm publishes its similarities. Nothing but an array of numbers is made."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALLOWED: dict[tuple[str, str], Any] = {
    (f"numpy.{module}.multiarray", "_reconstruct"): np.ndarray.__reduce__(np.zeros(0))[0]
    for module in ("core", "_core")
}
_ALLOWED |= {
    (f"numpy.{module}.numeric", "_frombuffer"): np.zeros(0).__reduce_ex__(5)[0] for module in ("core", "_core")
}
_ALLOWED |= {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}


def _latin(text: str, encoding: str) -> bytes:
    """Return bytes that protocol 2 wrote as text."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes as {encoding}")
    return text.encode("latin1")


_ALLOWED["_codecs", "encode"] = _latin


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, and only NumPy arrays are read")
        found: Callable[..., Any] = _ALLOWED[module, name]
        return found


def read_pickle(path: Path) -> NDArray[Any]:
    """Return the array of numbers or booleans in a pickle; raise `ValueError` for anything else."""
    with path.open("rb") as file:
        try:
            found = _ArraysOnly(file).load()
        except Exception as error:  # a damaged pickle fails in many ways
            raise ValueError(f"no pickled array: {error}") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        raise ValueError("no array of numbers")
    return found
