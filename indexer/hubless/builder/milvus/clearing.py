"""What Milvus holds beyond the versions: the alias for the current one, and collections that are no longer needed.

A job goes on if Milvus does not answer here: it logs what is left, and the next job tries again.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from hubless.errors import CollectionNotFound, EngineError, InputError
from hubless.search.engines.milvus.client import Client, client_of
from hubless.search.engines.milvus.mark import Mark, describe
from hubless.search.engines.milvus.names import alias_name
from hubless.search.engines.milvus.server import Server
from hubless.store import outside
from hubless.store.bundle import Manifest
from hubless.store.catalog import VERSIONS, Catalog
from hubless.store.remote.published import RemoteCatalog

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

    Raises
    ------
    InputError
        if somebody else uses the name of the alias.
    EngineError
    """
    check_alias(client, collection)
    alias = alias_name(collection)
    known = describe(client, alias)
    if known is None:  # it has to be there before it can be altered
        client.call("create_alias", name, alias)
    elif known["collection_name"] != name:
        client.call("alter_alias", name, alias)


def follow(manifest: Manifest, server: Server | None = None) -> None:
    """Move the alias in Milvus to a version that has become current. Log if that fails: no query depends on it."""
    record = manifest.index.milvus
    if record is None or not record.collection:
        return
    try:
        move_alias(client_of(server or Server.of_environment()), record.marked, record.collection)
    except (EngineError, InputError) as error:
        log.warning("the alias %s in Milvus was not moved: %s", alias_name(record.marked), error)


def clear(home: Path, server: Server | None = None) -> None:
    """Drop the Milvus collections of versions of a collection that are not there any more.

    Parameters
    ----------
    home : folder of the collection
    """
    versions = home / VERSIONS
    gone = outside.orphaned(versions)
    for version in drop(home.name, gone.items(), server):
        outside.forget(versions, version)


def drop(collection: str, kept: Iterable[tuple[str, str]], server: Server | None = None) -> list[str]:
    """Drop the Milvus collections of versions. Return the versions whose collections are gone.

    Parameters
    ----------
    kept : ids of versions, and the names of their collections
    """
    left = dict(kept)
    dropped = []
    try:
        if left:
            client = client_of(server or Server.of_environment())
            for version, name in list(left.items()):
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


def delete(catalog: Catalog | RemoteCatalog, name: str, *, aliases: bool = False) -> None:
    """Delete a collection as `Catalog.delete`, and the collections of its versions in Milvus."""
    kept = outside.noted(catalog.path / name / VERSIONS) if isinstance(catalog, Catalog) else _published(catalog, name)
    catalog.delete(name, aliases=aliases)
    drop(name, kept.items())


def prune(catalog: Catalog | RemoteCatalog, name: str, keep: int) -> list[str]:
    """Delete old versions as `Catalog.prune`, and their collections in Milvus."""
    if isinstance(catalog, Catalog):
        deleted = catalog.prune(name, keep)
        clear(catalog.path / name)
    else:
        kept = _published(catalog, name)
        deleted = catalog.prune(name, keep)
        drop(name, [(version, kept[version]) for version in deleted if version in kept])
    return deleted


def _published(catalog: RemoteCatalog, name: str) -> dict[str, str]:
    """Version → its collection in Milvus, of those at an address."""
    try:
        manifests = [(each.id, each.manifest) for each in catalog.versions(name)]
    except CollectionNotFound:  # the catalog says so, unless it has to finish a delete
        return {}
    return {version: made.index.milvus.collection for version, made in manifests if made and made.index.milvus}
