"""Names that become parts of paths, on the disk and in buckets. A name from outside is checked here first."""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from hubless.errors import InputError

SEGMENTS, FITS = "segments", "fits"
"""Folders of a collection, whose folders versions share."""
_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_name(name: object) -> bool:
    """Return True if something can be the name of a collection or an alias."""
    return isinstance(name, str) and _COLLECTION.fullmatch(name) is not None


def is_file_name(name: object) -> bool:
    """Return True if something can be the name of a version or of its files: one step of a path, and no way up."""
    return isinstance(name, str) and _STEP.fullmatch(name) is not None


def _is_path(path: str) -> bool:
    *place, name = path.split("/")
    inside = not place or (len(place) == 2 and place[0] in (SEGMENTS, FITS) and is_file_name(place[1]))
    return inside and is_file_name(name)


def check_name(name: str, parameter: str = "collection") -> None:
    """Raise `InputError` unless the name is safe in a path and a URL."""
    if not is_name(name):
        raise InputError(parameter, "1 to 64 letters, digits, - or _, the first a letter or digit", repr(name))


def _checked(good: Callable[[str], bool], of: str) -> AfterValidator:
    def check(name: str) -> str:
        if not good(name):
            raise ValueError(f"{name!r} is no name of a {of}")
        return name

    return AfterValidator(check)


CollectionName = Annotated[str, _checked(is_name, "collection")]
"""The name of a collection or an alias, as read from a file of somebody else."""
FileName = Annotated[str, _checked(is_file_name, "file")]
"""The name of a version or of its files, as read from a file of somebody else."""
FilePath = Annotated[str, _checked(_is_path, "file")]
"""A file of a version by its name, or that of a segment or a fit by its path, as a manifest of somebody else has it."""
