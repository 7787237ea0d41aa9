"""Plain files below a folder that strangers may fill: they are opened here.

What stands at a name there may be a link, a pipe or a device, and another thing a moment later. So each step of the way
is opened from the step before, none through a link, and what is read is what was opened, never the path again.
"""

import errno
import os
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import BinaryIO

_WAY = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
"""A folder on the way has to be passed, and need not be listed."""
A_LINK = "a link, and links are not followed"
_WHY = {
    errno.ELOOP: A_LINK,
    errno.ENOTDIR: "a part of the path is a file or a link, not a folder",
    errno.ENXIO: "a folder, a pipe or a device, and no plain file",
    errno.EINVAL: "a name that leads out of the folder, or that no file can have",
}


def open_below(root: Path, name: str | PurePath) -> BinaryIO:
    """Open a plain file below a folder to read it. The folder itself may be a link: whoever named it knows.

    Raises `OSError` with plain words for a link anywhere below the folder, for what is no plain file, and for a name
    that is empty or absolute, or has `..` or a NUL. Waits for nobody who writes to a pipe.
    """
    steps = PurePath(name).parts
    try:
        if not steps or steps[0].startswith(os.sep) or os.pardir in steps:
            raise ValueError
        return open(root.joinpath(*steps), "rb", opener=partial(_opened, root, steps))
    except (OSError, ValueError) as error:  # of a NUL too, and of half a letter
        number = getattr(error, "errno", errno.EINVAL)
        raise OSError(number, _WHY.get(number, os.strerror(number)), str(root / name)) from error


def read_below(root: Path, name: str | PurePath, most: int) -> bytes:
    """Return the content of a plain file below a folder. Raises as `open_below`, and `OSError` for more bytes."""
    with open_below(root, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", str(name))
    return content


def _opened(root: Path, steps: Sequence[str], path: str, flags: int) -> int:
    here = os.open(root, _WAY)
    for place, step in enumerate(steps, 1):
        kind = _WAY if place < len(steps) else flags | os.O_NONBLOCK
        try:
            found = os.open(step, kind | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        here = found
    if not stat.S_ISREG(os.fstat(here).st_mode):
        os.close(here)
        raise OSError(errno.ENXIO, path)
    return here
