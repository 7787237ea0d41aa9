"""The versions of a collection."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from hubless_client.call import Call, Content, Json, Timeout
from hubless_client.paths import in_collection, of_version
from hubless_client.records import Record
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class VersionState(Record):
    """A version of a collection, and its state.

    Attributes
    ----------
    created, count : None if its manifest cannot be read
    current : whether it is the version to serve
    state : "served", "refused", "damaged" or "stored"
    detail : why it is refused or damaged
    """

    version: str
    created: datetime | None
    count: int | None
    current: bool
    state: str
    detail: str | None = None

    @classmethod
    def list_from_json(cls, body: Json, _request_id: str | None) -> list[Self]:
        """Read the answer about all versions."""
        return [cls.from_json(entry) for entry in body["versions"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionDetails(Record):
    """A stored version: its inputs, parameters and measurements.

    Attributes
    ----------
    correction, index, measured, bank : as in its manifest; the last two are None without a query bank
    log_seq : the number of the last write that it has
    bytes : the size of its files
    versions : of hubless and its libraries
    inputs : name, size and SHA-256 of what it was built from
    """

    version: str
    collection: str
    created: datetime
    count: int
    dim: int
    metric: str
    correction: dict[str, Any]
    index: dict[str, Any]
    measured: dict[str, Any] | None
    bank: dict[str, Any] | None
    strength: float
    notes: tuple[str, ...]
    payload_columns: tuple[str, ...]
    log_seq: int
    bytes: int
    seed: int
    versions: dict[str, str]
    inputs: dict[str, dict[str, Any]]
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field of the manifest that differs. Its name has dots: `correction.details.temperature`."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class ChangedIds:
    """Targets that one version has and the other has not: how many, and some of their ids."""

    count: int
    ids: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ChangedAnswers:
    """The first ten of a canary query in both versions, and how many stand in both."""

    before: tuple[str | int, ...]
    after: tuple[str | int, ...]
    kept: int


@dataclass(frozen=True, slots=True)
class VersionDiff(Record):
    """Differences between a version and an older one, `since`.

    Attributes
    ----------
    canaries : the answers to the canary queries of the older version; empty if the dimensions differ
    """

    version: str
    since: str
    collection: str
    fields: tuple[ChangedField, ...]
    added: ChangedIds
    removed: ChangedIds
    canaries: tuple[ChangedAnswers, ...]
    request_id: str | None = None


class VersionMethods:
    """Versions."""

    @ClientMethod
    def version(
        self, collection: str, version: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[VersionDetails]:
        """One stored version: what it was built from, and what was measured."""
        path = of_version(collection, version)
        return Call("GET", path, VersionDetails.from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def diff(
        self,
        collection: str,
        version: str,
        since: str | None = None,
        *,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[VersionDiff]:
        """Return the differences between two versions: the manifest, ids, and the answers to canary queries.

        Parameters
        ----------
        since : the id of the other version; None for the one before
        request_id, timeout : as in every call
        """
        content = Content({} if since is None else {"since": since})
        path = of_version(collection, version, "diff")
        return Call("GET", path, VersionDiff.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def versions(
        self, collection: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[list[VersionState]]:
        """All versions of a collection, oldest first, and their state."""
        path = in_collection(collection, "versions")
        return Call("GET", path, VersionState.list_from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def activate(
        self, collection: str, version: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[list[VersionState]]:
        """Make another version the one to serve. The server checks it first, and opens it beside the old one."""
        path = of_version(collection, version, "activate")
        return Call("POST", path, VersionState.list_from_json, request_id=request_id, timeout=timeout)
