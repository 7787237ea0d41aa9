"""Pickles of NumPy arrays, numbers, texts, lists and dicts. Nothing else is made, so none can run a program."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.vectors.readers.places import converting

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


_TO_LINES = (
    'python -c "import pandas, sys; found = pandas.DataFrame(pandas.read_pickle(sys.argv[1])); '
    "named = found.index.inferred_type == 'string' and 'id' not in found; "
    "(found.rename_axis('id').reset_index() if named else found).to_json(sys.argv[2], orient='records', lines=True, "
    'double_precision=15)" {file} {stem}.jsonl, if you trust the file: it can run any program'
)


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _ALLOWED:
            raise ImportError(f"{module}.{name}")
        found: Callable[..., Any] = _ALLOWED[module, name]
        return found


def plain_pickle(path: Path) -> Any:
    """Return what a pickle holds. Raises `InputError` with the line that converts others, `ValueError` for damage."""
    with path.open("rb") as file:
        try:
            return _ArraysOnly(file).load()
        except ImportError as error:
            expected = f"arrays, lists, dicts, texts and numbers; {converting(_TO_LINES, path, path.with_suffix(''))}"
            raise InputError(f"pickle ({path.name})", expected, error) from error
        except Exception as error:  # a damaged pickle fails in many ways
            raise ValueError(f"no pickled array: {error}") from error


def read_pickle(path: Path) -> NDArray[Any]:
    """Return the array of numbers or booleans in a pickle. Raises as `plain_pickle`, also for anything else."""
    found = plain_pickle(path)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        raise ValueError("no array of numbers")
    return found
