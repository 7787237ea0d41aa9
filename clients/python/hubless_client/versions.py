"""The versions of a collection."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from hubless_client.call import Call, Json, Timeout
from hubless_client.paths import in_collection, of_version
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class VersionState:
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
    detail: str | None

    @classmethod
    def from_json(cls, body: Json) -> Self:
        """Read it."""
        return cls(
            version=body["version"],
            created=body["created"] and datetime.fromisoformat(body["created"]),
            count=body["count"],
            current=body["current"],
            state=body["state"],
            detail=body.get("detail"),
        )

    @classmethod
    def list_from_json(cls, body: Json, _request_id: str | None) -> list[Self]:
        """Read the answer about all versions."""
        return [cls.from_json(entry) for entry in body["versions"]]


class VersionMethods:
    """Versions."""

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
