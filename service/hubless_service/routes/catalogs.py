"""The collections: what is served, created and deleted; and aliases, other names of collections."""

import logging
import re
from asyncio import to_thread
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Header, Response

from hubless import Alias, Catalog, Collection
from hubless.builder.lifecycle import create
from hubless.builder.pipeline.engines import delete
from hubless.encoders import Endpoint
from hubless.errors import AliasNotFound, CollectionNotFound, InputError, PreconditionFailed
from hubless.store.bundle import Manifest
from hubless.store.names import check_name
from hubless_service.access.authentication import of_others
from hubless_service.access.keys import Access
from hubless_service.http.answers import (
    AliasAnswer,
    AliasesAnswer,
    CollectionAnswer,
    CollectionsAnswer,
    DeletedCollectionAnswer,
)
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import AliasRequest, CreateCollectionRequest, DeleteCollectionRequest
from hubless_service.http.responses import send
from hubless_service.openapi import ETAG, UNSERVED
from hubless_service.routes.route import (
    AdminAccess,
    Call,
    CreateAccess,
    Held,
    OwnName,
    UrlOf,
    readable_collection,
    routes_of,
)
from hubless_service.searching.encoding import VARIABLE

_log = logging.getLogger("hubless.catalog")
administration = logging.getLogger("hubless.administration")
collection_routes = routes_of("collections")
alias_routes = routes_of("aliases")
_PATH = "/v1/collections/{collection}"
_ENDPOINT = Endpoint.described.model_fields["type"].default
_ALIAS = "/v1/aliases/{alias}"
_TAG = re.compile(r'(?<!W/)"([1-9][0-9]{0,18})"')
AliasIfMatch = Annotated[str | None, Header(description="The ETag that the alias must still have, or * for any.")]
IfNoneMatch = Annotated[str | None, Header(description="* if the alias may not be there yet.")]


@collection_routes.at("GET", "/v1/collections", "All collections that are served", CollectionsAnswer, *UNSERVED)
async def list_collections(call: Call) -> Response:
    """/readyz names those that cannot be served."""
    await call.engine.freshness.settle(call.trace)
    return send({"collections": [_described(call, each) for each in call.engine.shelf.collections(call.access)]})


@collection_routes.at("GET", _PATH, "One collection", CollectionAnswer)
async def get_collection(call: Call, held: Held) -> Response:
    """Its size, its correction, and how well that was measured to work."""
    return send(_described(call, held))


@collection_routes.at(
    "PUT",
    _PATH,
    "Create an empty collection",
    CollectionAnswer,
    "collection_exists",
    *UNSERVED,
    also={201: {"model": CollectionAnswer, "description": "It was created."}},
)
async def create_collection(
    call: Call, collection: str, access: CreateAccess, body: CreateCollectionRequest
) -> Response:
    """It can be written to at once. Until a query bank is given its offsets are 0.

    If it is there with these settings, the answer is 200, and nothing changes.
    """
    engine = call.engine
    check_name(collection)
    if collection in await to_thread(engine.catalog.aliases):
        raise InputError("collection", "a name that is no alias", repr(collection))
    encoder = None if body.encoder is None else _endpoint(access, body.encoder, body.dim)
    settings = body.model_dump() | {"keep_full": bool(body.keep_full), "encoder": encoder}
    created = await to_thread(create, engine.catalog.path, collection, **settings)
    if created:
        _log.info('collection "%s" was created, id=%s', collection, call.trace.request_id)
        engine.shelf.drop(collection)  # one of that name that was deleted through another worker
    if created or encoder:
        await engine.freshness.serves_current(call.trace, collection)
        await engine.freshness.answer(collection)
    held = await readable_collection(call, collection)
    return send(_described(call, held), status=201 if created else 200)


@collection_routes.at(
    "DELETE",
    _PATH,
    "Delete a collection, with all its versions and writes",
    DeletedCollectionAnswer,
    "collection_aliased",
)
async def delete_collection(
    call: Call, collection: str, name: OwnName, access: AdminAccess, url: UrlOf[DeleteCollectionRequest]
) -> Response:
    """Nothing of it can be had back. Needs its own name, not an alias, and a key of role admin.

    Refused while aliases stand for it, unless they are to go, too.
    """
    engine = call.engine
    await to_thread(delete, engine.catalog, collection, aliases=url.aliases or False)
    _log.info('collection "%s" was deleted, id=%s', collection, call.trace.request_id)
    engine.shelf.drop(collection)
    await engine.freshness.answer()
    return send({"collection": collection, "deleted": True})


def _endpoint(access: Access, description: dict[str, Any], dim: int) -> Endpoint:
    """Return the encoder that a request describes: one that lies behind a URL, and gets no secret of this machine."""
    if not access.has("admin"):
        raise HttpProblem("forbidden", "An encoder needs a key of role admin: the service will ask its URL.")
    if (kind := description.get("type", _ENDPOINT)) != _ENDPOINT:
        raise InputError("encoder.type", f"{_ENDPOINT}; {VARIABLE} describes those of this machine", repr(kind))
    if description.get("api_key_env") is not None:
        raise InputError("encoder.api_key_env", f"none in a request: {VARIABLE} names the variable of the key", "one")
    try:
        encoder = Endpoint.load(Path(), {"dim": dim, **description})
    except InputError as error:
        raise error.about(error.parameter.replace(", ", ".")) from error
    if encoder.dim != dim:
        raise InputError("encoder.dim", f"{dim}, as the vectors have", encoder.dim)
    return encoder


def _described(call: Call, collection: Collection) -> CollectionAnswer:
    """Return the document of a collection."""
    manifest = collection.manifest
    parts = collection.parts
    sampling = call.engine.sampling
    kept = sampling.summary(manifest.collection) if sampling else None
    fields = CollectionAnswer.__annotations__.keys() & Manifest.model_fields
    answer = {
        **{field: getattr(manifest, field) for field in fields},
        "name": manifest.collection,
        "strength": collection.strength,
        "live": call.engine.live(collection).speaks_for,
        "query_sample": kept and {"queries": kept.queries, "asked": kept.seen, "since": kept.begins.isoformat()},
        "payload": parts.payload_kind,
        "payload_columns": [*parts.payload_types],
        "payload_types": parts.payload_types,
        "text": parts.encoder is not None,
        "image": parts.takes_pictures,
        "pictures": call.settings.pictures is not None,
        "writes": {
            "seq": collection.seq,
            "log_bytes": call.engine.catalog.log_bytes(manifest.collection),
            "added": parts.added,
            "removed": parts.removed,
            "frozen_share": parts.frozen_share,
        },
        "versions": [*call.engine.shelf.known(collection.name).version_ids],
        "aliases": [alias for alias, of in call.engine.shelf.aliases.items() if of.collection == collection.name],
    }
    return cast(CollectionAnswer, answer)


@alias_routes.at("GET", "/v1/aliases", "All aliases", AliasesAnswer, "storage")
async def list_aliases(call: Call) -> Response:
    """The aliases of all collections that the key may see."""
    found = await _visible(call)
    return send({"aliases": [_document(name, alias) for name, alias in found.items()]})


@alias_routes.at("GET", _ALIAS, "What an alias stands for", AliasAnswer, "alias_not_found", "storage", also=ETAG)
async def get_alias(call: Call, alias: str) -> Response:
    """The answer has the ETag that you need to change the alias."""
    return _alias_answer(alias, await _alias(call, alias))


@alias_routes.at(
    "PUT",
    _ALIAS,
    "Set an alias, or move it to another collection",
    AliasAnswer,
    "alias_not_found",
    "collection_not_found",
    "precondition_required",
    "storage",
    also=ETAG,
)
async def put_alias(
    call: Call,
    alias: str,
    access: AdminAccess,
    body: AliasRequest,
    if_match: AliasIfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """To move an existing alias send If-Match. So nobody undoes the change of somebody else by accident.

    All workers follow before the answer. The answer to a query has the collection's own name. A key that is limited
    makes aliases of names in its list, and moves those of its collections.
    """
    engine = call.engine
    collection = body.collection
    check_name(alias, "alias")

    async def there() -> Alias | None:
        aliases, collections = await to_thread(_names, engine.catalog)
        # what is wrong whatever the headers expect comes first
        if not (access.sees(collection) and collection in collections):
            raise CollectionNotFound(f'There is no collection "{collection}".')
        before = aliases.get(alias)
        if not access.sees(before.collection if before else alias):  # nothing tells which of the two it is
            if if_match is not None:
                raise _no_alias(alias)
            raise of_others()
        return before

    set_alias = partial(engine.catalog.set_alias, alias, collection)
    changed = await _changed(there, set_alias, if_match, if_none_match)
    administration.info('alias "%s" stands for "%s" now, id=%s', alias, collection, call.trace.request_id)
    await engine.freshness.answer()
    return _alias_answer(alias, changed)


@alias_routes.at(
    "DELETE", _ALIAS, "Remove an alias", AliasAnswer, "forbidden", "alias_not_found", "precondition_required", "storage"
)
async def delete_alias(call: Call, alias: str, if_match: AliasIfMatch = None) -> Response:
    """Needs If-Match. The answer says what the alias stood for."""

    async def there() -> Alias:
        found = await _alias(call, alias)
        call.check_role("admin")
        return found

    removed = await _changed(there, partial(call.engine.catalog.remove_alias, alias), if_match)
    administration.info('alias "%s" was removed, id=%s', alias, call.trace.request_id)
    await call.engine.freshness.answer()
    return send(_document(alias, removed))


def _names(catalog: Catalog) -> tuple[dict[str, Alias], list[str]]:
    """Return aliases and collections as they were at one moment: whoever deletes both may be between them."""
    while True:
        found, collections = catalog.aliases(), catalog.collections()
        if catalog.aliases() == found:
            return found, collections


async def _visible(call: Call) -> dict[str, Alias]:
    # read from the disk, as another worker may just have changed them
    found = await to_thread(call.engine.catalog.aliases)
    return {name: alias for name, alias in found.items() if call.access.sees(alias.collection)}


async def _alias(call: Call, alias: str) -> Alias:
    found = await _visible(call)
    if alias not in found:
        raise _no_alias(alias)
    return found[alias]


def _no_alias(name: str) -> AliasNotFound:
    return AliasNotFound(f'There is no alias "{name}".')


async def _changed(
    there: Callable[[], Awaitable[Alias | None]],
    change: Callable[..., Alias],
    match: str | None,
    none_match: str | None = None,
) -> Alias:
    """Change an alias, if it is as the headers expect. If somebody else was first, look again: `*` may still hold."""
    while True:
        before = await there()
        revision = before.revision if before else 0
        if match is not None and not (before and (match.strip() == "*" or str(revision) in _TAG.findall(match))):
            raise HttpProblem("precondition_failed", "The alias is not the one of If-Match: get it anew.")
        if none_match is not None and before:
            raise HttpProblem("precondition_failed", "The alias is there already.")
        if match is None and before:
            raise HttpProblem(
                "precondition_required", "The alias is there: say in If-Match the ETag that it has, or *."
            )
        with suppress(PreconditionFailed):
            return await to_thread(change, expected=revision)


def _alias_answer(name: str, alias: Alias) -> Response:
    document = _document(name, alias)
    return send(document, (b"etag", document["etag"].encode()))


def _document(name: str, alias: Alias) -> AliasAnswer:
    return {"alias": name, "collection": alias.collection, "etag": f'"{alias.revision}"'}
