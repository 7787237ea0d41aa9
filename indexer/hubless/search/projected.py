"""The map of a version: read where it is stored, and else computed."""

from hubless.errors import BundleError, StorageError
from hubless.measures.projection import Projection, project
from hubless.search.parts import Parts
from hubless.store.bundle import PROJECTION, read_arrays, reading


def projection(parts: Parts) -> Projection | None:
    """Where some targets and bank queries lie; None without targets."""
    if parts.numbering is None and (stored := stored_projection(parts)) is not None:
        return stored
    return project(len(parts.offsets), parts.targets.vectors, parts.bank_sample, parts.occurrence())


def stored_projection(parts: Parts) -> Projection | None:
    """The one that was made with the version, of the rows that it had then; None where there is none any more.

    Raises
    ------
    BundleDamaged, StorageError
    """
    if parts.folder is None or PROJECTION not in parts.manifest.files:
        return None
    path = parts.folder / PROJECTION
    try:
        with reading(path):
            return Projection(**read_arrays(path))
    except (BundleError, StorageError):
        if parts.folder.exists():
            raise
        return None  # the version was deleted since it was opened
