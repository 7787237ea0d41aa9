"""Verifies catalogs, also while they are served: files, index, offsets and log of every version, and the aliases."""

from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from hubless.errors import CollectionNotFound, HublessError
from hubless.search.parts import Parts
from hubless.search.soundness import collection_problem
from hubless.search.transaction import open_written
from hubless.store.catalog import Catalog


@dataclass(frozen=True)
class Problem:
    """A fault of a collection, or of one version of it."""

    collection: str
    version: str | None
    problem: str


@dataclass
class Verdict:
    """The collections that were checked, with the last write of each, and the faults that were found."""

    versions: int = 0
    writes: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {"sound": self.sound, **asdict(self)}


def verify_catalog(catalog: Catalog) -> Verdict:
    """Check files, index, offsets and log of all versions, and the aliases. The service can run meanwhile."""
    verdict = Verdict()
    for name in catalog.collections():
        with suppress(CollectionNotFound):  # deleted meanwhile
            _verify_collection(catalog, name, verdict)
    verdict.problems += [Problem(name, None, problem) for name, problem in catalog.strays().items()]
    known = catalog.collections()
    for alias, stands in catalog.aliases().items():
        if stands.collection not in known:
            problem = f"the alias {alias!r} stands for it, and it is not there"
            verdict.problems.append(Problem(stands.collection, None, problem))
        if alias in known:
            verdict.problems.append(Problem(alias, None, "an alias has its name"))
    return verdict


def _verify_collection(catalog: Catalog, name: str, verdict: Verdict) -> None:
    """Add to a verdict what is wrong with the versions and the log of a collection."""
    current = catalog.current(name)
    versions = catalog.version_ids(name)
    if current not in versions and catalog.current(name) == current:
        problem = "it is current, and is not there: take another one by hubless rollback --version, or restore it"
        verdict.problems.append(Problem(name, current, problem))
    known: Parts | None = None  # what versions share is checked once
    for version in versions:
        try:
            found, known = _version_problem(catalog, name, version, known)
        except HublessError as error:
            if version not in catalog.version_ids(name):
                continue  # pruned meanwhile
            found = str(error)
        verdict.versions += 1
        if found is not None:
            verdict.problems.append(Problem(name, version, found))
    try:
        with closing(catalog.log(name)) as log:
            verdict.writes[name] = log.last()
    except HublessError as error:
        verdict.problems.append(Problem(name, None, str(error)))


def _version_problem(catalog: Catalog, name: str, version: str, known: Parts | None) -> tuple[str | None, Parts | None]:
    """Return what is wrong with a version, and its parts, for the next one."""
    written = open_written(catalog, name, version=version, lenient=True, known=known)
    opened = written.base
    opened.check_canaries()
    problem = collection_problem(opened)
    if problem is None and written.current is not opened:
        problem = collection_problem(written.current)
    return problem, opened.parts if problem is None else known
