"""Verifies a catalog deeply: files, index, offsets, logs and aliases."""

from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from hubless.errors import CollectionNotFound, HublessError
from hubless.search.collection import open_collection
from hubless.search.soundness import collection_problem
from hubless.search.transaction import WritableCollection, open_with_log
from hubless.store.catalog import Catalog


@dataclass(frozen=True)
class Problem:
    """A fault of a collection, or of one version of it."""

    collection: str
    version: str | None
    problem: str


@dataclass
class Verdict:
    """The collections that were checked, and their faults."""

    versions: int = 0
    writes: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"sound": self.sound, **asdict(self)}


def verify_catalog(catalog: Catalog) -> Verdict:
    """Compare all files with their hashes, sampled hits and offsets with what they should be, and logs with versions.

    The service can serve and write meanwhile. All versions are looked at, each with what was written since.
    """
    verdict = Verdict()
    for name in catalog.collections():
        with suppress(CollectionNotFound):  # deleted meanwhile
            _verify_collection(catalog, name, verdict)
    known = catalog.collections()
    for alias, stands in catalog.aliases().items():
        if stands.collection not in known:
            problem = f"the alias {alias!r} stands for it, and it is not there"
            verdict.problems.append(Problem(stands.collection, None, problem))
        if alias in known:
            verdict.problems.append(Problem(alias, None, "an alias has its name"))
    return verdict


def _verify_collection(catalog: Catalog, name: str, verdict: Verdict) -> None:
    current, versions = catalog.current(name), catalog.version_ids(name)
    if current not in versions and catalog.current(name) == current:
        problem = "it is current, and is not there: take another one by hubless rollback --version, or restore it"
        verdict.problems.append(Problem(name, current, problem))
    for version in versions:
        try:
            found = _version_problem(catalog, name, version)
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


def _version_problem(catalog: Catalog, name: str, version: str) -> str | None:
    """Return what is wrong with a version as it was built, or with the writes since."""
    opened, log = open_with_log(
        lambda: open_collection(catalog, name, version=version, lenient=True), lambda: catalog.log(name)
    )
    with opened, closing(log):
        opened.check_canaries()
        if (problem := collection_problem(opened)) is not None:
            return problem
        living = WritableCollection(opened, log)
        living.catch_up()
        return None if living.current is opened else collection_problem(living.current)
