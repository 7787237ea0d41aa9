"""`.npy` files, read and written without pickle."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def read_npy(path: Path) -> NDArray[Any]:
    """The array in a `.npy`. Refuses pickled objects and, unlike `np.load`, other kinds of files.

    Raises
    ------
    ValueError
        if it is not one.
    """
    with path.open("rb") as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a `.npy`. Raises `OSError` with the reason, which `numpy.save` on a path does not know."""
    with pa.OSFile(str(path), "wb") as file:
        np.save(file, array, allow_pickle=False)
