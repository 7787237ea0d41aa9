"""Other names of collections."""

from dataclasses import dataclass
from typing import Self

from hubless_client.bodies import in_json
from hubless_client.call import Call, Content, Json, Timeout
from hubless_client.paths import ALIASES, of_alias
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """Another name of a collection.

    Attributes
    ----------
    name : the alias
    collection : the collection that it stands for
    etag : the value for `if_match`; every change gives a new one
    """

    name: str
    collection: str
    etag: str

    @classmethod
    def from_json(cls, body: Json, _request_id: str | None = None) -> Self:
        """Read the answer about one alias."""
        return cls(body["alias"], body["collection"], body["etag"])

    @classmethod
    def list_from_json(cls, body: Json, _request_id: str | None) -> list[Self]:
        """Read the answer about all aliases."""
        return [cls.from_json(entry) for entry in body["aliases"]]


class AliasMethods:
    """Aliases."""

    @ClientMethod
    def aliases(self, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[list[AliasInfo]]:
        """All aliases."""
        return Call("GET", ALIASES, AliasInfo.list_from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def alias(self, name: str, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[AliasInfo]:
        """The collection that an alias stands for, and the etag that you need to change it."""
        return Call("GET", of_alias(name), AliasInfo.from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def set_alias(
        self,
        name: str,
        collection: str,
        *,
        if_match: str | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[AliasInfo]:
        """Set an alias. To move one that exists, give its etag as `if_match`, or "*" for any."""
        content = in_json({"collection": collection}, if_match)
        # a second one fails, as the first has changed the etag
        return Call(
            "PUT",
            of_alias(name),
            AliasInfo.from_json,
            content,
            request_id=request_id,
            timeout=timeout,
            repeats=False,
        )

    @ClientMethod
    def remove_alias(
        self, name: str, *, if_match: str, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[AliasInfo]:
        """Remove an alias with the etag `if_match`, or "*" for any. Returns what it stood for."""
        content = Content(if_match=if_match)
        return Call(
            "DELETE",
            of_alias(name),
            AliasInfo.from_json,
            content,
            request_id=request_id,
            timeout=timeout,
            repeats=False,
        )
