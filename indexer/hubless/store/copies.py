"""Files copied from a folder that somebody else may have made, such as a backup from elsewhere.

What stands at a name there is opened as `open_below` does, and nothing is read by its path.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from hubless.errors import storage_errors
from hubless.store.durable import sync
from hubless.vectors.readers.plain_files import open_below

_READ_BYTES = 2**20
_MODES = 0o775
"""What a copy keeps of a mode: nobody gets the right to write who is neither owner nor in the group."""


def open_plain(path: Path, root: Path | None = None) -> BinaryIO:
    """Open a plain file below a folder, by default its own, to read it. Raises as `open_below`."""
    root = root or path.parent
    return open_below(root, path.relative_to(root))


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


def copy_plain(path: Path, new: Path, root: Path | None = None) -> None:
    """Copy a plain file durably, with its mode. Raises as `open_plain`."""
    with open_plain(path, root) as file:
        copy_open(file, new)


def mode_of(path: Path) -> int:
    """Return what a copy keeps of the mode of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode) & _MODES
