"""The collections that are served, by name. The follower fills the shelf; requests look collections up."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hubless import Alias, Collection
from hubless.errors import (
    BundleError,
    CollectionNotFound,
    EngineError,
    LogCut,
    LogDamaged,
    NoEngine,
    StorageError,
    VersionReplaced,
)
from hubless.search.transaction import WritableCollection
from hubless_service.access.keys import Access
from hubless_service.http.problems import HttpProblem, from_library
from hubless_service.http.values import Json

STATES = ("loading", "ready", "failed")


class Slot(NamedTuple):
    """One collection, as far as it has been loaded."""

    living: WritableCollection | None = None  # the version that is served, with what was written since
    tried: str | None = None  # the version that was opened last: the one that is served, unless there is a failure
    failure: Exception | None = None  # why that version cannot be served
    seconds: float = 0.0  # to open and check the version that is served
    silent: EngineError | None = None  # why its engine does not answer now; queries are answered as soon as it does
    version_ids: Sequence[str] = ()  # of all versions that are stored, oldest first

    @property
    def collection(self) -> Collection | None:
        """The collection that is served now; None if there is none."""
        return self.living.current if self.living else None

    @property
    def is_new(self) -> bool:
        """Return True if no version was served or refused so far."""
        return self.living is None and self.failure is None

    @property
    def opened(self) -> Collection:
        """The collection that is served. Raises why there is none."""
        if self.living:
            return self.living.current
        raise as_problem(self.failure) if self.failure else HttpProblem("not_ready", "The collection is being loaded.")

    @property
    def state(self) -> str:
        """One of `STATES`: ready as long as a version is served, its engine answers, and its log is whole."""
        if self.collection:  # which is served also if its log is damaged, without writes that were answered
            return "failed" if self.silent or self._damage else "ready"
        return "failed" if self.failure else "loading"

    @property
    def _damage(self) -> LogDamaged | None:
        trouble = self.living.error if self.living else None
        return trouble if isinstance(trouble, LogDamaged) else None

    @property
    def settled(self) -> bool:
        """True to leave a refused version alone. Errors of a disk or an engine may pass, so that is tried again."""
        return not isinstance(self.failure, StorageError | EngineError)

    def details(self) -> Json:
        """The words of /readyz about the collection."""
        reason = _told(self.failure) if self.failure else {}
        if not (collection := self.collection):
            return {"status": self.state, **reason}
        served: Json = {"status": self.state, "version": collection.version, "count": collection.count}
        if hindrance := self.silent or self._damage:
            served |= _told(hindrance)
        if self.living and self.living.error:
            served["log"] = _told(self.living.error)
        return served | ({"refused": {"version": self.tried, **reason}} if reason else {})


def _told(failure: Exception) -> Json:
    problem = as_problem(failure)
    return {"code": problem.code, "detail": problem.detail}


def as_problem(failure: Exception) -> HttpProblem:
    """The problem that tells clients why something cannot be served. Only the log tells an unexpected reason."""
    if isinstance(failure, BundleError | StorageError | EngineError):
        return from_library(failure)
    if isinstance(failure, NoEngine):
        return HttpProblem("engine_unavailable", f"Its vectors are in another engine. {failure}.")
    return HttpProblem("internal_error", "It could not be read; what the server logs says why.")


REPLACED = LogCut, VersionReplaced
"""Errors of a version that only a newer one can go on from: it lacks writes, or was deleted."""
NOTHING_TO_SERVE = "There is nothing to serve: the catalog is empty. Build a collection with hubless build."


_EMPTY = Slot()


class Shelf:
    """One slot for each collection of the catalog, the aliases, and what is wrong with the catalog as a whole."""

    def __init__(self) -> None:
        self.loading = True
        self.failure: Exception | None = None
        self.aliases: Mapping[str, Alias] = {}
        self.slots: Mapping[str, Slot] = {}  # never changed, but replaced
        self._lock = threading.Lock()

    # for the watcher

    def keep(self, names: Iterable[str]) -> list[str]:
        """Have a slot for each of these collections and for no other; the names of those that are gone."""
        with self._lock:
            before = self.slots
            self.slots = {name: before.get(name, Slot()) for name in names}
            return [name for name in before if name not in self.slots]

    def note(self, name: str, silent: EngineError | None) -> None:
        """Note whether the engine of a collection answers."""
        with self._lock:
            if slot := self.slots.get(name):
                self.slots = {**self.slots, name: slot._replace(silent=silent)}

    def drop(self, name: str) -> None:
        """Serve a collection no longer, as it was deleted."""
        with self._lock:
            self.slots = {known: slot for known, slot in self.slots.items() if known != name}

    def put(self, name: str, slot: Slot) -> None:
        """Replace the slot of a collection, unless it is gone. Requests that have begun keep the version they found."""
        with self._lock:
            if name in self.slots:
                self.slots = {**self.slots, name: slot}

    def known(self, name: str) -> Slot:
        """The slot of a collection; an empty one if it has none."""
        return self.slots.get(name, _EMPTY)

    def served(self) -> list[Collection]:
        """All collections that are ready."""
        return [living.current for living in self.living()]

    def living(self) -> list[WritableCollection]:
        """The same, with their logs."""
        return [slot.living for slot in self.slots.values() if slot.living]

    # for requests

    def collections(self, access: Access) -> list[Collection]:
        """All collections that are ready and may be seen, by name."""
        if (not self.slots or self.loading) and (trouble := self._trouble()):
            raise trouble
        return [collection for collection in self.served() if access.sees(collection.name)]

    def collection(self, name: str) -> Collection:
        """Return a collection by its own name. Raises why it cannot be served."""
        if (slot := self.slots.get(name)) is None:
            raise self.absent(name)
        return slot.opened

    def absent(self, name: str) -> Exception:
        """Return the error of a request for a collection that is not there, or that it may not see."""
        return self._trouble() or CollectionNotFound(f'There is no collection "{name}".')

    def own_name(self, name: str) -> str:
        """Return the own name of a collection, given that name or an alias."""
        alias = None if name in self.slots else self.aliases.get(name)
        return alias.collection if alias else name

    # for probes and metrics

    @property
    def ready(self) -> bool:
        """True if loading is over and something can be served. One collection that failed does not hold up the rest."""
        states = {slot.state for slot in self.slots.values()}
        return not self.loading and states != {"failed"} and not (self.failure and not states)

    @property
    def empty(self) -> bool:
        """Return True if the catalog was read and has no collection."""
        return not self.loading and not self.failure and not self.slots

    def _trouble(self) -> HttpProblem | None:
        """Return why it is not known yet which collections there are."""
        if self.loading:
            return HttpProblem("not_ready", "Collections are being loaded.")
        return as_problem(self.failure) if self.failure else None
