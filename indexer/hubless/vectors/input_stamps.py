"""Files that must stay as they are while they are read.

A build reads a file more than once: its hash, its ids, its payload, its vectors. A file that is replaced meanwhile
would give a version of two files that do not belong together.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hubless.errors import HublessError, InputError

_Stamp = tuple[int, int, int, int]
_READ = (".npy", ".npz", ".parquet", ".json")
"""Endings of the files in a folder that a build reads: shards of vectors, and an encoder."""


class InputStamps:
    """The files and folders among some inputs, as they were when this was made, before anything was read."""

    def __init__(self, **inputs: object) -> None:
        self._paths = {name: Path(given) for name, given in inputs.items() if isinstance(given, str | Path)}
        self._stamps = {name: _stamps(path) for name, path in self._paths.items()}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise `InputError` if a file has changed by the end of the block, also in place of an error of the block."""
        try:
            yield
        except (HublessError, OSError) as error:
            self._check(error)
            raise
        self._check()

    def _check(self, error: Exception | None = None) -> None:
        for name, path in self._paths.items():
            now, before = _stamps(path), self._stamps[name]
            for file in sorted({*before, *now}):
                if now.get(file) != before.get(file):
                    what = f"{name.replace('_', ' ')} ({file.name})"
                    got = "one that was changed" if file in now else "one that is gone"
                    raise InputError(what, "a file that stays as it is while it is read", got) from error


def _stamps(path: Path) -> dict[Path, _Stamp]:
    """Return stamps that tell a file from the one that takes its place; of a folder, for each file that is read."""
    found = {}
    with suppress(OSError):  # the reader says it better
        for file in [each for each in path.iterdir() if each.suffix in _READ] if path.is_dir() else [path]:
            stat = file.stat()
            found[file] = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found
