"""Targets in segments, and their files."""

import numpy as np

from hubless.search.bitmap import Bitmap
from hubless.store import bundle


def chosen(targets, mask):
    """The targets that a mask (n,) of rows selects, as if a filter had found them."""
    places = np.zeros(targets.total, np.bool_)
    places[targets.places(np.flatnonzero(mask))] = True
    counts = [len(view.segment) for view in targets.views]
    return targets.matching([Bitmap(part) for part in np.split(places, np.cumsum(counts)[:-1])])


def unnamed(manifest):
    """The records of the files of a version that was built, by names that those of any other have, too."""
    return {name.replace(manifest.version, "VERSION"): record for name, record in manifest.files.items()}


def files_of(catalog, name):
    """All files of segments and fits of a collection: which file on the disk each is, and when it was written."""
    home = catalog / name
    found = [file for kind in (bundle.SEGMENTS, bundle.FITS) for file in (home / kind).rglob("*") if file.is_file()]
    return {str(file.relative_to(home)): (file.stat().st_ino, file.stat().st_mtime_ns) for file in found}


def sizes(manifest):
    """How many rows each segment has, those that are gone too."""
    return [each.count for each in manifest.segments]


def assert_stamps_stand_once(targets):
    """Assert that stamps rise, and that each leads back to its row."""
    stamps = [targets.stamp(row) for row in range(len(targets))]
    assert stamps == sorted(set(stamps))
    assert [targets.row_from(*stamp) for stamp in stamps] == list(range(len(targets)))
