"""Writing so that nothing is half-written: durable files and folders, and the disk's refusals as our errors."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import StorageError

_REFUSALS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than allowed",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "a file is in the place of a folder",
    errno.EISDIR: "a folder is in the place of a file",
    errno.ENOENT: "no such file or folder",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into a `StorageError` that names the path and says why in plain words.

    An `OSError` without a number is not the operating system's: libraries raise such over a file's content.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        reason = _REFUSALS.get(error.errno, error.strerror or str(error))
        named = error.filename if isinstance(error.filename, str) else path
        raise StorageError(named, reason) from error


def sync(path: Path) -> None:
    """Force a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, that outlive a power cut; nothing to do if it is there."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a `.npy`. Raises `OSError` with the reason, which `numpy.save` on a path does not know."""
    with pa.OSFile(str(path), "wb") as file:
        np.save(file, array, allow_pickle=False)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock, waiting for it; whoever dies lets go of it."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace_text(path: Path, text: str) -> None:
    """Replace a file's content at once and durably: whoever reads it sees the old or the new, never a part.

    One at a time: the new content passes through one temporary file, so that a kill leaves at most this one.
    """
    with _beside(path) as temporary:
        temporary.write_text(text, "utf-8")
        sync(temporary)
        temporary.replace(path)
    sync(path.parent)


def check_place(path: Path) -> None:
    """Find out whether a file can be put there, before the work is done of which it is to hold the result.

    Raises
    ------
    StorageError
        if it cannot; what is there stays as it is.
    """
    with storage_errors(path):
        if path.is_dir():
            raise StorageError(path, _REFUSALS[errno.EISDIR])
        with _beside(path) as temporary:
            temporary.touch()


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary file of the same folder, gone at the end; what fails is said to be the file itself."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        yield temporary
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
