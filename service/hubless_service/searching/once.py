"""Things that are made once for each version that is served, and go with it."""

import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from hubless import Collection

_T = TypeVar("_T")


class OnceAVersion(Generic[_T]):
    """Makes something when it is asked for first. Safe in several threads, which wait for one that makes it."""

    def __init__(self, make: Callable[[Collection], _T]) -> None:
        self._make = make
        # it goes when the last request that holds the version ends: what is made must not hold the version
        self._made: weakref.WeakKeyDictionary[Collection, _T] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __call__(self, collection: Collection) -> _T:
        """Return it: the same for a version and all that writes made of it."""
        version = collection.origin
        with self._lock:
            if version not in self._made:
                self._made[version] = self._make(version)
            return self._made[version]
