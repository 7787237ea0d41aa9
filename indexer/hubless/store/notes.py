"""Numbers in small files, which any process of a machine raises, and many look at for each request.

A number has its checksum beside it. A file that is missing, cut short or damaged says nothing: its number is 0.
"""

import os
import secrets
import zlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from hubless.store.durable import locked

_DIGITS = 20
_MOST_BYTES = 2 * _DIGITS
_BITS = 63
"""Of a number by chance, which is another than the one before it."""


class Note:
    """A number in a file, read anew each time, so what another process writes is seen at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: HeldFile | None = None

    def number(self) -> int:
        """Return the number. Keeps no file open. Raises `OSError` if the system refuses."""
        try:
            return _number_of(HeldFile(self.path).content())
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def stamp(self) -> tuple[int, int]:
        """Return the file's inode and the number; they differ from those before also if the file was made anew.

        They are 0 for none, and while the system refuses. The file is kept open: there may be no descriptor later. If
        it is gone then, it is made anew, as another one.
        """
        try:
            if self._file and not self.path.exists():
                os.close(self.open())
            now = self.path.stat()
            file = self._file  # once: another thread may replace it
            if file is None or file.place != (now.st_dev, now.st_ino):
                file = self._file = HeldFile(self.path)
            return file.place[1], _number_of(file.content())
        except OSError:
            return 0, 0

    def glance(self) -> bytes:
        """Return what stands in the file, which is made if it is missing. Costs 1 µs.

        If it was replaced, that is seen after the next `stamp`.
        """
        try:
            if self._file is None:
                with suppress(OSError):
                    os.close(self.open())
                self.stamp()
            file = self._file  # once, as above
            return file.content() if file else b""
        except OSError:
            return b""

    def open(self) -> int:
        """Open the file to write, early: later there may be no descriptor left. It is made if it is missing."""
        return os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o666)

    def raise_by_one(self) -> None:
        """Raise the number. A disk that refuses leaves it: then the others hear of a change at their next look."""
        with suppress(OSError), locked(self.path):
            self.put(self.number() + 1)

    def put(self, number: int) -> None:
        """Write the number. It survives the process, and a power cut once the file is synced."""
        descriptor = self.open()
        try:
            os.pwrite(descriptor, stamped(number), 0)
        finally:
            os.close(descriptor)


class HeldFile:
    """An open file, whose `place` is its device and its inode.

    It closes when nobody uses it any more, so its inode is given to no other file until then.
    """

    def __init__(self, path: Path, kind: int = 0) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | kind)
        stat = os.fstat(self.descriptor)
        self.place = stat.st_dev, stat.st_ino

    def content(self) -> bytes:
        """Return the first bytes, as many as a number and its checksum have."""
        return os.pread(self.descriptor, _MOST_BYTES, 0)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def another() -> bytes:
    """Return a number that never was in a file, as it stands there. It needs no lock, as nothing is read before."""
    return stamped(secrets.randbits(_BITS))


@lru_cache(256)
def _number_of(content: bytes) -> int:
    number = content[:_DIGITS]
    return int(number) if number.isdigit() and content == stamped(int(number)) else 0


def stamped(number: int) -> bytes:
    """Return a number as it stands in a file."""
    digits = b"%0*d" % (_DIGITS, number)
    return b"%s %08x\n" % (digits, zlib.crc32(digits))
