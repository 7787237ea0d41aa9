"""Which collections a merge is due for: so much stands beside their index that queries begin to feel it."""

import os
from collections.abc import Iterable

from hubless.errors import HublessError
from hubless.search.transaction import WritableCollection
from hubless.store.catalog import Catalog

SHARE = 0.02
"""Of the targets: a merge copies all of them, so a large collection waits for more."""


def merges_due(served: Iterable[WritableCollection], merge_at: int) -> list[str]:
    """Names the collections whose added targets, gone targets or writes are so many, and 2 % of the targets.

    Writes count too, as a collection whose targets are changed again and again would have an ever longer log.

    Parameters
    ----------
    merge_at : how many; 0 for never
    """
    return [living.base.name for living in served if merge_at and _is_due(living, merge_at)]


def _is_due(living: WritableCollection, merge_at: int) -> bool:
    now, base = living.current, living.base
    if living.log is None or max(now.added, now.removed, now.seq - base.seq) < max(merge_at, SHARE * base.count):
        return False
    home = living.log.path.parent
    try:
        # another worker may have merged it just now; a folder that is only read is merged by others
        return os.access(home, os.W_OK) and Catalog(home.parent).current(home.name) == base.version
    except HublessError:
        return False
