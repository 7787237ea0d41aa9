"""Files copied from a folder that somebody else may have made, such as a backup from elsewhere.

A name may be a link, a pipe or a device there, and a file may be far larger than it should be. So files are opened
without following links, checked to be plain ones, and copied up to the size that is expected.
"""

import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO

from hubless.errors import BundleDamaged, storage_errors
from hubless.store.durable import sync

_READ_BYTES = 2**20
_MODES = 0o775
"""What a copy keeps of a mode: nobody gets the right to write who is neither owner nor in the group."""


def open_plain(path: Path) -> BinaryIO:
    """Open a file to read it. Raises `BundleDamaged` unless it is a plain one; `OSError` if it is not there."""
    try:
        file = FileIO(path, opener=_open_here)
    except OSError as error:
        if path.is_symlink():
            raise BundleDamaged(path, "is a link, and not a file") from error
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BundleDamaged(path, "is not a plain file")
    return BufferedReader(file, _READ_BYTES)


def _open_here(path: str, flags: int) -> int:
    """Open what stands at a path itself, and wait for nobody who writes to a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def check_folder(path: Path) -> None:
    """Raise `BundleDamaged` if a folder is a link, which could lead anywhere."""
    if path.is_symlink():
        raise BundleDamaged(path, "is a link, and not a folder")


def copy_open(file: BinaryIO, path: Path) -> None:
    """Copy an open file durably, with its mode. Raises `StorageError` if the disk of one or the other refuses."""
    with storage_errors(path):
        with path.open("xb") as copy:
            while block := _read(file):
                copy.write(block)
        path.chmod(stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _MODES)
        sync(path)


def _read(file: BinaryIO) -> bytes:
    with storage_errors(Path(os.fsdecode(file.name))):
        return file.read(_READ_BYTES)


def copy_plain(path: Path, new: Path) -> None:
    """Copy a plain file durably, with its mode. Raises as `open_plain`."""
    with open_plain(path) as file:
        copy_open(file, new)


def mode_of(path: Path) -> int:
    """Return what a copy keeps of the mode of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode) & _MODES
