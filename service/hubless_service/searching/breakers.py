"""Tells the metrics which encoders are left alone for now, as soon as that changes."""

import threading
from collections.abc import Callable, Iterable

import hubless


class Breakers:
    """The circuit breakers of the encoders of what is served.

    Parameters
    ----------
    served : gives the collections that are served now
    """

    def __init__(self, served: Callable[[], Iterable[hubless.Collection]]) -> None:
        self.on_state: Callable[[str, bool], None] = lambda collection, is_open: None
        self._served = served
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def note(self, collection: hubless.Collection) -> None:
        """Tell the state of one after a call of its encoder; a version that was replaced is not told of."""
        if collection.parts.encoder_left_alone is not None and any(
            collection.origin is one.origin for one in self._served()
        ):
            self.on_state(collection.name, collection.parts.encoder_left_alone)

    def look(self) -> None:
        """Tell the state of all, after what is served may have changed."""
        with self._lock:
            collections = [one for one in self._served() if one.parts.encoder_left_alone is not None]
            names = {collection.name for collection in collections}
            for gone in self._told - names:
                self.on_state(gone, False)
            for collection in collections:
                self.note(collection)
            self._told = names
