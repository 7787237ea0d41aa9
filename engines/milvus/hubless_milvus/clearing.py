"""Clear what Milvus holds beyond the versions: the alias for the current one, and collections no longer needed.

A job goes on if Milvus does not answer here: it logs what is left, and the next job tries again.
"""

import logging
from collections.abc import Mapping

from hubless.errors import EngineError, InputError
from hubless_milvus.client import Client, client_of
from hubless_milvus.mark import Mark, describe
from hubless_milvus.names import alias_name
from hubless_milvus.server import Server

log = logging.getLogger("hubless.milvus")


def check_alias(client: Client, collection: str) -> None:
    """Raise `InputError` if the alias for a collection is a name that somebody else uses in Milvus."""
    alias = alias_name(collection)
    described = describe(client, alias)
    if described is None:
        return
    mark = Mark.of(described)
    if described["collection_name"] == alias or mark is None or mark.collection != collection:
        raise InputError("Milvus alias", "a name that is free or stands for a version", f"{alias}, which is another's")


def move_alias(client: Client, collection: str, name: str) -> None:
    """Let the alias for a collection stand for the Milvus collection of a version.

    Raises `InputError` if somebody else uses the name of the alias; `EngineError`.
    """
    check_alias(client, collection)
    alias = alias_name(collection)
    known = describe(client, alias)
    if known is None:  # it has to be there before it can be altered
        client.call("create_alias", name, alias)
    elif known["collection_name"] != name:
        client.call("alter_alias", name, alias)


def publish(collection: str, name: str) -> None:
    """Move the alias for a collection to the Milvus collection of its current version. Log if that fails."""
    try:
        move_alias(client_of(Server.of_environment()), collection, name)
    except (EngineError, InputError) as error:
        log.warning("the alias %s in Milvus was not moved: %s", alias_name(collection), error)


def drop(collection: str, names: Mapping[str, str]) -> list[str]:
    """Drop the Milvus collections of versions. Return the versions whose collections are gone.

    `names`: by id of the version, the name of its collection.
    """
    left = dict(names)
    dropped = []
    try:
        if left:
            client = client_of(Server.of_environment())
            for version, name in names.items():
                _drop(client, collection, version, name)
                dropped.append(version)
                del left[version]
    except (EngineError, InputError) as error:
        log.warning("left in Milvus: %s (%s)", ", ".join(left.values()), error)
    return dropped


def _drop(client: Client, collection: str, version: str, name: str) -> None:
    """Drop the collection of a version, and the alias if it stands for it. What is not marked so stays."""
    described = describe(client, name)
    mark = None if described is None else Mark.of(described)
    if mark is None or mark.version != version:
        return
    alias = alias_name(mark.collection)
    standing = describe(client, alias)
    if standing is not None and standing["collection_name"] == name:
        client.call("drop_alias", alias)  # Milvus drops no collection that an alias stands for
    client.call("drop_collection", name)
