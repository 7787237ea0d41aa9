"""Asks the engines outside of the process, again and again, whether they answer, so that /readyz can tell."""

import logging
import threading

import numpy as np

import hubless
from hubless.errors import EngineError, EngineTimeout, EngineUnavailable
from hubless.search.engines.deadline import within
from hubless_service.searching.shelf import Shelf

log = logging.getLogger("hubless.engine")

_PATIENCE = 2.0
"""Seconds that an answer may take: a vector is fetched by its row."""


class Silence:
    """A thread that notes on the shelf whose engine does not answer."""

    def __init__(self, shelf: Shelf, seconds: float) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        seconds : between two looks
        """
        self._shelf = shelf
        self._seconds = seconds
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to ask."""
        # a daemon, as nobody needs what it still finds when the process ends
        threading.Thread(target=self._run, name="engines", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self._look()
            except Exception:
                log.exception("engines could not be asked")

    def _look(self) -> None:
        dead: dict[str, EngineError] = {}
        for collection in self._shelf.served():
            if not collection.remote or self._stopping.is_set():
                continue
            # all of an engine are in one place: if it is dead for one, the others need not wait for it
            place = collection.manifest.index.type
            error = dead.get(place) or _error_of(collection)
            if isinstance(error, EngineTimeout | EngineUnavailable):
                dead[place] = error
            self._note(collection.name, error)

    def _note(self, name: str, error: EngineError | None) -> None:
        before = self._shelf.known(name).silent
        if error and not before:
            log.error('collection "%s": %s', name, error)
        elif before and not error:
            log.info('collection "%s": its engine answers again', name)
        if error or before:
            self._shelf.note(name, error)


def _error_of(collection: hubless.Collection) -> EngineError | None:
    try:
        with within(_PATIENCE):
            collection.origin.vectors(np.zeros(min(1, collection.origin.count), np.int64))
    except EngineError as error:
        return error.with_traceback(None)
    return None
