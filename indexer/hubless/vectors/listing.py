"""Files that a folder or a pattern stands for: all of them, or an error. What cannot be looked at is not gone.

`os.walk`, `Path.glob` and `Path.is_file` pass over what they may not read, and over links that lead nowhere. A disk
that is not mounted would look like one whose files were deleted.
"""

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from hubless.errors import StorageError, storage_errors

_NUMBER = re.compile(r"([0-9]+)")
_PATTERN = re.compile(r"[*?\[]")
_ANY_DEPTH, _ANY_NAME = "**", "*"
_LEAVINGS = ("Thumbs.db", "desktop.ini", "@eaDir", "#recycle", "$RECYCLE.BIN", "lost+found", "node_modules")


def natural_order(path: str | Path) -> tuple[list[list[str | int]], str]:
    """Return a key that sorts paths with the numbers in their names compared as numbers: 2 comes before 10."""
    parts = [_NUMBER.split(part) for part in Path(path).parts]
    return [[int(each) if place % 2 else each for place, each in enumerate(part)] for part in parts], str(path)


def is_data(name: str, endings: Collection[str] = ()) -> bool:
    """Return whether a file of this name can be data. Hidden files cannot, such as `._0.npy` of macOS.

    What programs leave beside data is none either: `Thumbs.db`, a Synology's previews in `@eaDir`, and such as
    `_SUCCESS` and `_temporary`, which begin with an underscore. But `_0.npy` is data if `.npy` is one of `endings`.
    """
    if name.startswith(".") or name in _LEAVINGS:
        return False
    return not name.startswith("_") or ending_of(name) in endings


def ending_of(path: str | Path) -> str:
    """Return the ending of a name in small letters, such as `.npy`."""
    return Path(path).suffix.lower()


def is_pattern(text: str) -> bool:
    """Return whether a part of a path stands for several names, such as `*.npy`."""
    return _PATTERN.search(text) is not None


def files_in(folder: Path, endings: Collection[str] | None = None) -> list[Path]:
    """Return the files of data in a folder that have one of some endings, or all files, in natural order.

    Some programs write a folder `x.parquet` of shards: it stands for its files. Raises `StorageError` if the folder or
    one of these files cannot be looked at: no permission, a link to nowhere, or an error of the disk.
    """
    if endings is None:
        return [path for path in _entries(folder, lambda name: True) if S_ISREG(_mode(path))]
    found = _entries(folder, lambda name: ending_of(name) in endings and is_data(name, endings))
    return [file for each in found for file in _expanded(each, endings)]


def folders_in(folder: Path, mark: str) -> list[Path]:
    """Return the folders in a folder that have a mark in their names, in natural order, without hidden ones."""
    return [each for each in _entries(folder, lambda name: mark in name and is_data(name)) if is_folder(each)]


def files_matching(pattern: str, folder: Path, endings: Collection[str]) -> list[Path]:
    """Return the files of data that a pattern matches, seen from a folder, in natural order.

    A folder that it matches stands for its files if it has one of the endings, and is passed over otherwise. Raises
    `StorageError` as `files_in`, also for what stands on the way.
    """
    top = Path(pattern)
    places, parts = ([Path(top.anchor)], top.parts[1:]) if top.anchor else ([folder], top.parts)
    *inside, last = parts
    for part in inside:
        places = [each for place in places for each in _steps(place, part) if is_folder(each)]
    if last == _ANY_DEPTH:
        last = _ANY_NAME
    matched = [each for place in places for each in _steps(place, last, endings)]
    return sorted({file for each in matched for file in _expanded(each, endings)}, key=natural_order)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder. Raises `StorageError` if it cannot be looked at."""
    return S_ISDIR(_mode(path))


def is_there(path: Path) -> bool:
    """Return whether something is at a path. Raises `StorageError` for a link to nowhere, or without permission."""
    try:
        _mode(path)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return False
        raise
    return True


def _steps(place: Path, part: str, endings: Collection[str] = ()) -> Iterator[Path]:
    """Yield what a part of a pattern stands for in a folder: one name, several, or folders at any depth."""
    if part == _ANY_DEPTH:
        yield from _depths(place)
    elif is_pattern(part):
        named = part.startswith((".", "_"))
        yield from _entries(place, lambda name: fnmatchcase(name, part) and (named or is_data(name, endings)))
    elif is_there(place / part):
        yield place / part


def _depths(place: Path) -> Iterator[Path]:
    """Yield a folder and all folders below it. Links to folders are not followed: they may lead back."""
    yield place
    for each in _entries(place, is_data):
        if is_folder(each) and not each.is_symlink():
            yield from _depths(each)


def _expanded(path: Path, endings: Collection[str]) -> list[Path]:
    mode = _mode(path)
    if not S_ISDIR(mode):
        return [path] if S_ISREG(mode) else []
    if ending_of(path) not in endings:
        return []
    found = files_in(path, endings)
    if not found:
        raise StorageError(path, f"a folder without files that end in {', '.join(endings)}")
    return found


def _entries(folder: Path, wanted: Callable[[str], bool]) -> list[Path]:
    with storage_errors(folder):
        found = [path for path in folder.iterdir() if wanted(path.name)]
    for path in found:
        _mode(path)
    return sorted(found, key=natural_order)


def _mode(path: Path) -> int:
    """Return what kind of thing is at a path. Raises `StorageError`, also for a link to nowhere."""
    with storage_errors(path):
        try:
            return path.stat().st_mode
        except FileNotFoundError:
            if not path.is_symlink():
                raise
            problem = f"a link to {path.readlink()}, which is not there. Is its disk mounted?"
            raise StorageError(path, problem) from None
