"""The files of the inputs, watched: a build reads what it has checked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from hubless.errors import HublessError, InputError
from hubless.vectors.files import SHARDS
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import split_member
from hubless.vectors.readers.columns import ID_FILES

_Stamp = tuple[int, int, int, int]
_READ = (*ID_FILES, *SHARDS)
"""Endings of the files in a folder that a build reads: shards of vectors, payload and ids, and an encoder."""


class InputStamps:
    """The files and folders among some inputs, as they were when this was made, before anything was read."""

    def __init__(self, inputs: Mapping[str, str | Path]) -> None:
        paths = {name: split_member(given)[0] for name, given in inputs.items()}
        self._seen = {name: (path, _stamps(path)) for name, path in paths.items()}

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
        for name, (path, before) in self._seen.items():
            now = _stamps(path)
            for file in sorted({*before, *now}):
                if now.get(file) != before.get(file):
                    what = f"{name.replace('_', ' ')} ({file.name})"
                    got = "one that was changed" if file in now else "one that is gone"
                    raise InputError(what, "a file that stays as it is while it is read", got) from error


def _stamps(path: Path) -> dict[Path, _Stamp]:
    """Return stamps that tell a file from the one that takes its place; of a folder, for each file that is read."""
    found = dict[Path, _Stamp]()
    files = [path]
    with suppress(OSError):  # the reader says it better
        if path.is_dir():
            files = list(_read_in(path))
    for file in files:
        with suppress(OSError):  # one that goes after it was listed hides no other
            stat = file.stat()
            found[file] = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    return found


def _read_in(folder: Path) -> Iterator[Path]:
    """Yield the files that are read in a folder, and in its folders such as `year=2019`, whatever becomes of them."""
    for path in folder.iterdir():
        if ending_of(path) in _READ:
            yield path
        elif "=" in path.name and path.is_dir():
            yield from _read_in(path)
