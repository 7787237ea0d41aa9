"""When a worker begins to take requests, so that every worker keeps what /readyz promises."""

import logging
from pathlib import Path

log = logging.getLogger("hubless.door")

_FILE = "loaded"


class Door:
    """Lets the first worker take requests at once, also to say that it is loading.

    The other workers take no request before both the first and they themselves have loaded. Otherwise one worker would
    say that the server is ready, and another would refuse the next request.
    """

    def __init__(self, folder: Path | None = None, *, first: bool = True) -> None:
        """Make the door of one worker.

        Parameters
        ----------
        folder : that the workers share; None where there are no others
        first : whether this is the one that answers from the start
        """
        self._folder = folder
        self._first = first

    def open(self) -> None:
        """Let the other workers in. The first worker calls this when it has loaded."""
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
    """Note that no worker answers any more."""
    (folder / _FILE).unlink(missing_ok=True)
