"""How many collections may be open: each holds a descriptor, and connections need some."""

from hubless.errors import StorageError
from hubless.kernels.quota import most_descriptors
from hubless.store.log import LOG_FILES, most_open

_LEFT, _SHARE_LEFT = 256, 2
"""Descriptors that collections leave to connections and to all else: so many, or half of them if there are few."""


class NoRoom(StorageError):
    """A collection, or several, is not opened, as its descriptor would be one that connections need."""

    def __init__(self, names: str) -> None:
        why = f"{most_descriptors()} descriptors are too few: raise the limit (ulimit -n, LimitNOFILE)"
        super().__init__(names, f"not opened, as {why}")


def most_collections() -> int:
    """Return how many collections may be open in this process."""
    descriptors = most_descriptors()
    return descriptors - min(_LEFT, descriptors // _SHARE_LEFT) - LOG_FILES * most_open()
