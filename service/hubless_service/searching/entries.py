"""What is known of each collection: the version that is served, and the one that was refused."""

from dataclasses import dataclass

import hubless
from hubless.errors import BundleError, StorageError
from hubless_service.http.problems import Problem, from_library

STATES = ("loading", "ready", "failed")


@dataclass(frozen=True)
class Entry:
    """One collection as far as it has come.

    Attributes
    ----------
    collection : what is served, if any version is
    tried : the version that was opened last; the one that is served, unless there is a failure
    failure : why that one cannot be served
    seconds : how long it took to open the one that is served, and to prove it
    """

    collection: hubless.Collection | None = None
    tried: str | None = None
    failure: Exception | None = None
    seconds: float = 0.0

    @property
    def state(self) -> str:
        """One of `STATES`; a collection is ready as long as some version of it is served."""
        if self.collection:
            return "ready"
        return "failed" if self.failure else "loading"

    @property
    def settled(self) -> bool:
        """Whether there is no point in opening the same version again: what a disk refuses may come back."""
        return not isinstance(self.failure, StorageError)

    def details(self) -> dict[str, object]:
        """What /readyz says about the collection."""
        reason: dict[str, object] = {}
        if self.failure:
            problem = as_problem(self.failure)
            reason = {"code": problem.code, "detail": problem.detail}
        if not self.collection:
            return {"status": self.state, **reason}
        served = {"status": self.state, "version": self.collection.version, "count": self.collection.count}
        return served | ({"refused": {"version": self.tried, **reason}} if reason else {})


def as_problem(failure: Exception) -> Problem:
    """Tell clients why something cannot be served; of an unforeseen reason only the log does."""
    if isinstance(failure, BundleError | StorageError):
        return from_library(failure)
    return Problem("internal_error", "It could not be opened; the log of the server says why.")
