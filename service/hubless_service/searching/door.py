"""When a worker begins to take requests, so that /readyz promises nothing that another worker does not keep."""

import logging
from pathlib import Path

log = logging.getLogger("hubless.door")

_FILE = "loaded"


class Door:
    """One of several workers takes requests at once, also to say that it is loading.

    The others take none before both it and they have loaded: requests would be refused by one worker after another had
    said that the server is ready.
    """

    def __init__(self, folder: Path | None = None, *, first: bool = True) -> None:
        """Stand before it.

        Parameters
        ----------
        folder : that the workers share; None where there are no others
        first : whether this is the one that answers from the start
        """
        self._folder = folder
        self._first = first

    def open(self) -> None:
        """Having loaded, let in the others."""
        if self._first and self._folder:
            try:
                (self._folder / _FILE).touch()
            except OSError as error:
                log.warning("the other workers do not learn that they may begin: %s", error)

    def lets_in(self, *, loading: bool) -> bool:
        """Whether this worker may take requests."""
        return self._first or (not loading and self._folder is not None and is_open(self._folder))


def is_open(folder: Path) -> bool:
    """Whether a worker answers queries, or did."""
    return (folder / _FILE).exists()


def close(folder: Path) -> None:
    """Nobody answers any more."""
    (folder / _FILE).unlink(missing_ok=True)
