"""The mark on a Milvus collection: which version its vectors are of. Without it a collection is somebody else's."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hubless.errors import EngineError, InputError
from hubless_milvus.client import NOT_FOUND, Client, Refused
from hubless_milvus.names import VECTOR

PROPERTY = "hubless"


@dataclass(frozen=True)
class Mark:
    """The mark of a Milvus collection: the version that it serves.

    `collection`, `version`: of the catalog. `count`: targets that have a vector. `dim`: d.
    """

    collection: str
    version: str
    count: int
    dim: int

    def text(self) -> str:
        """As it stands in Milvus."""
        return json.dumps({PROPERTY: asdict(self)}, sort_keys=True)

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "Mark | None":
        """The mark of a collection as Milvus describes it; None if it has none."""
        for text in ((described.get("properties") or {}).get(PROPERTY), described.get("description")):
            try:
                return cls(**json.loads(text or "")[PROPERTY])
            except (TypeError, ValueError, KeyError):
                continue
        return None


def describe(client: Client, name: str) -> Mapping[str, Any] | None:
    """The collection of this name, as Milvus describes it; None if there is none. An alias is not a collection."""
    try:
        found: Mapping[str, Any] = client.call("describe_collection", name)
    except Refused as error:
        if error.number == NOT_FOUND:
            return None
        raise
    return found


def check_mark(client: Client, name: str, expected: Mark) -> None:
    """Raise unless the Milvus collection is the one that was loaded for a version.

    Raises `EngineError` if there is none, or it is somebody else's, or of another number or size of vectors.
    """
    described = describe(client, name)
    where = f"Milvus at {client.server.uri}"
    if described is None:
        raise EngineError(f"{where} has no collection {name}, which holds the vectors of version {expected.version}")
    found = Mark.of(described)
    if found is None:
        raise EngineError(f"collection {name} in {where} was not made by hubless")
    if found != expected:
        raise EngineError(f"collection {name} in {where} holds other vectors: {found.text()}, not {expected.text()}")
    sizes = [field["params"].get("dim") for field in described["fields"] if field["name"] == VECTOR]
    if [int(size) for size in sizes] != [expected.dim + 1]:
        said = f"vectors of {sizes[0]} dimensions" if sizes else f"no field {VECTOR}"
        raise EngineError(f"collection {name} in {where} has {said}, and should have {expected.dim + 1} dimensions")


def check_free(client: Client, name: str) -> None:
    """Raise `InputError` if Milvus has a collection of this name that hubless did not make for it."""
    described = describe(client, name)
    if described is not None:
        raise InputError("Milvus collection", "a name that nobody has", f"{name}, which is there: drop it or rename it")
