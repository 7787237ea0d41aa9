"""`.npy` files, alone or in a `.npz`, read and written without pickle."""

import os
import re
import tokenize
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedReader, BytesIO, FileIO
from math import prod
from pathlib import Path
from threading import Lock
from typing import IO, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, storage_errors
from hubless.vectors.arrays import F32, I64, as_float32

Header: TypeAlias = tuple[tuple[int, ...], bool, np.dtype[Any]]


def read_header(stream: IO[bytes]) -> Header:
    """Return the header of a `.npy`; the stream stands at the first number then. Raises `ValueError` if it is none."""
    try:
        version = np.lib.format.read_magic(stream)
        length = stream.read(2 if version == (1, 0) else 4)
        return _evaluated(version, length + stream.read(int.from_bytes(length, "little")))
    except (SyntaxError, tokenize.TokenError, RecursionError, TypeError) as error:  # NumPy evaluates it as Python
        raise ValueError("its header is damaged") from error


@lru_cache(1024)
def _evaluated(version: tuple[int, int], content: bytes) -> Header:
    """Evaluate a header. Those of many collections are the same, and each costs as much as to read a small file."""
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with _EVALUATING, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that Python 2 wrote it, which its numbers do not show
        header: Header = read(BytesIO(content))
    return header


_EVALUATING = Lock()
os.register_at_fork(after_in_child=_EVALUATING._at_fork_reinit)  # type: ignore[attr-defined]
"""Held while NumPy evaluates a header: `ast` of Python 3.11.0 to 3.11.4 fails if two threads use it at once."""


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array in a `.npy`. Refuses pickled objects and, unlike `np.load`, other files, with a `ValueError`."""
    with path.open("rb") as file:
        header = read_header(file)
        start = file.tell()
        left = file.seek(0, os.SEEK_END) - start
        file.seek(start)
        return _numbers_after(header, file, left)


def _numbers_after(header: Header, stream: IO[bytes], left: int) -> NDArray[Any]:
    shape, fortran, dtype = header
    if dtype.hasobject:
        raise ValueError("it holds pickled objects")
    if left < (size := prod(shape) * dtype.itemsize):  # before memory is taken
        raise ValueError(f"{left} bytes for an array of shape {shape}")
    array: NDArray[Any] = np.empty(shape, dtype, "F" if fortran else "C")
    room = array.reshape(-1, order="A").view(np.uint8).data if size else memoryview(b"")
    while room and (got := stream.readinto(room)):  # type: ignore[attr-defined]
        room = room[got:]
    if room:
        raise ValueError(f"it ends {len(room)} bytes too early")
    return array


_MEMBER = re.compile(r"(.+\.npz):([^:]+)", re.IGNORECASE)


def split_member(path: str | Path) -> tuple[Path, str | None]:
    """Return a path, and the name of an array of a `.npz`, if it is named after the path: `file.npz:name`."""
    match = _MEMBER.fullmatch(str(path))
    return (Path(path), None) if match is None else (Path(match[1]), match[2])


def chosen_array(members: Sequence[str], wanted: str | None, usual: str, name: str) -> str:
    """Return which array of a `.npz` is meant: the one that is named, the usual one, or the only one.

    Raises `InputError` that lists the arrays.
    """
    chosen = wanted or (members[0] if len(members) == 1 else usual)
    if chosen not in members:
        expected = "one of its arrays" if wanted else f"an array named {usual}, a single array, or FILE.npz:NAME"
        raise InputError(name, expected, f"{wanted}; arrays {list(members)}" if wanted else f"arrays {list(members)}")
    return chosen


class NpzArrays(Mapping[str, NDArray[Any]]):
    """The arrays of an open `.npz`, each read when it is asked for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    @property
    def size(self) -> int:
        """Bytes of all arrays, once they are unpacked."""
        return sum(info.file_size for info in self._members.values())

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = self._members[name]
        with self._archive.open(info) as stream:
            header = read_header(stream)
            return _numbers_after(header, stream, info.file_size)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@contextmanager
def open_npz(path: Path | IO[bytes]) -> Iterator[NpzArrays]:
    """Give the arrays of a `.npz`, which may be open.

    Raises what `zipfile` does, and `ValueError` for a member that is no array.
    """
    with zipfile.ZipFile(path) as archive:
        yield NpzArrays(archive)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a `.npy`. Raises `OSError` with the reason, which `numpy.save` on a path does not know."""
    with pa.OSFile(str(path), "wb") as file:
        np.save(file, array, allow_pickle=False)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a `.npz` without pickles. `numpy.savez` before 2.1 would take `allow_pickle` for an array."""
    with zipfile.ZipFile(path, "w") as made:
        for name, array in arrays.items():
            with made.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


@dataclass(frozen=True)
class NpyVectors:
    """The rows of a `.npy` in C order. They are read, not mapped: a cut file would kill each process that maps it."""

    path: Path
    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    name: str

    def blocks(self, rows: int) -> Iterator[F32]:
        count = self.shape[0]
        with storage_errors(self.path), self.path.open("rb") as file:
            file.seek(self.start)
            for first in range(0, count, rows):
                yield as_float32(self._read(file, min(rows, count - first)), self.name, first)

    def take(self, rows: I64) -> F32:
        taken = np.empty((len(rows), self.shape[1]), self.dtype)
        width = self.dtype.itemsize * self.shape[1]
        with storage_errors(self.path), self.path.open("rb", buffering=0) as file:
            for place, row in enumerate(rows.tolist()):
                file.seek(self.start + row * width)
                taken[place] = self._read(file, 1)[0]
        return as_float32(taken, self.name, rows)

    def _read(self, file: BufferedReader | FileIO, count: int) -> NDArray[Any]:
        block = np.empty((count, self.shape[1]), self.dtype)
        room = block.view(np.uint8).reshape(-1).data
        while room and (got := file.readinto(room)):  # one read may give a part
            room = room[got:]
        if room:
            raise InputError(self.name, f"{self.shape[0]} rows, as its header says", "fewer: the file was cut")
        return block
