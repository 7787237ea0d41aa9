"""The slot of one collection: the version that is served, and the version that was refused."""

from dataclasses import dataclass

import hubless
from hubless.errors import BundleError, EngineError, LogDamaged, NoEngine, StorageError
from hubless.search.transaction import WritableCollection
from hubless_service.http.problems import HttpProblem, from_library

STATES = ("loading", "ready", "failed")


@dataclass(frozen=True)
class Slot:
    """One collection, as far as it has been loaded.

    Attributes
    ----------
    living : the version that is served, with what was written since; None if there is none
    tried : the id of the version that was opened last; the one that is served, unless there is a failure
    failure : why that version cannot be served
    seconds : how long it took to open and check the version that is served
    silent : why its engine does not answer now; None if it does. Queries are answered again as soon as it does
    """

    living: WritableCollection | None = None
    tried: str | None = None
    failure: Exception | None = None
    seconds: float = 0.0
    silent: EngineError | None = None

    @property
    def collection(self) -> hubless.Collection | None:
        """The collection that is served now; None if there is none."""
        return self.living.current if self.living else None

    @property
    def state(self) -> str:
        """One of `STATES`; a collection is ready as long as a version is served, its engine answers, its log is whole.

        A collection whose log is damaged lacks writes that were answered: it is served, and is not ready.
        """
        if self.collection:
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

    def details(self) -> dict[str, object]:
        """The words of /readyz about the collection."""
        reason: dict[str, object] = {}
        if self.failure:
            problem = as_problem(self.failure)
            reason = {"code": problem.code, "detail": problem.detail}
        if not (collection := self.collection):
            return {"status": self.state, **reason}
        served: dict[str, object] = {"status": self.state, "version": collection.version, "count": collection.count}
        if hindrance := self.silent or self._damage:
            problem = as_problem(hindrance)
            served |= {"code": problem.code, "detail": problem.detail}
        if self.living and self.living.error:
            problem = as_problem(self.living.error)
            served["log"] = {"code": problem.code, "detail": problem.detail}
        return served | ({"refused": {"version": self.tried, **reason}} if reason else {})


def as_problem(failure: Exception) -> HttpProblem:
    """The problem that tells clients why something cannot be served. Only the log tells an unexpected reason."""
    if isinstance(failure, BundleError | StorageError | EngineError):
        return from_library(failure)
    if isinstance(failure, NoEngine):
        return HttpProblem("engine_unavailable", f"Its vectors are in another engine. {failure}.")
    return HttpProblem("internal_error", "It could not be read; what the server logs says why.")
