"""Events of the parts of a server: one object hears of them, and knows whom they concern."""

from typing import Protocol

from hubless.search.transaction import WritableCollection


class Listener(Protocol):
    """Hears of events, from any thread."""

    def searched(self, queries: int) -> None:
        """One call has answered so many queries."""

    def failed(self) -> None:
        """A thread has failed in a way that nobody foresaw, and goes on."""

    def written(self, living: WritableCollection) -> None:
        """A collection was written to."""

    def replaced(self) -> None:
        """A version is served that a newer one has replaced."""


class Nobody:
    """Hears nothing: for parts that stand alone."""

    def searched(self, queries: int) -> None: ...
    def failed(self) -> None: ...
    def written(self, living: WritableCollection) -> None: ...
    def replaced(self) -> None: ...


NOBODY = Nobody()


class OnlyFailures(Nobody):
    """Passes on failures, and nothing else."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def failed(self) -> None:
        self._listener.failed()
