"""Names that become parts of paths, on the disk and in buckets. A name from outside is checked here first."""

import re
from typing import Annotated

from pydantic import AfterValidator

from hubless.errors import InputError

_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_name(name: object) -> bool:
    """Return True if something can be the name of a collection or an alias."""
    return isinstance(name, str) and _COLLECTION.fullmatch(name) is not None


def is_file_name(name: object) -> bool:
    """Return True if something can be the name of a version or of its files: one step of a path, and no way up."""
    return isinstance(name, str) and _STEP.fullmatch(name) is not None


def check_name(name: str, parameter: str = "collection") -> None:
    """Raise `InputError` unless the name is safe in a path and a URL."""
    if not is_name(name):
        raise InputError(parameter, "1 to 64 letters, digits, - or _, the first a letter or digit", repr(name))


def _checked_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"{name!r} is no name of a collection")
    return name


def _checked_file(name: str) -> str:
    if not is_file_name(name):
        raise ValueError(f"{name!r} is no name of a file")
    return name


CollectionName = Annotated[str, AfterValidator(_checked_name)]
"""The name of a collection or an alias, as read from a file of somebody else."""
FileName = Annotated[str, AfterValidator(_checked_file)]
"""The name of a version or of its files, as read from a file of somebody else."""
