"""Writing so that nothing is half-written: durable files and folders, and the disk's refusals as our errors."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hubless.errors import StorageError

_REFUSALS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than allowed",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENOENT: "no such file or folder",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into a `StorageError` that names the path and says why in plain words."""
    try:
        yield
    except OSError as error:
        reason = _REFUSALS.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(Path(error.filename or path), reason) from error


def sync(path: Path) -> None:
    """Force a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Replace a file's content at once and durably: whoever reads it sees the old or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, "utf-8")
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
