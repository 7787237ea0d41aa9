"""The collections: what is served, created and deleted."""

import asyncio
import logging
from functools import partial
from typing import Any, cast

from fastapi import Response

import hubless
from hubless.builder.lifecycle import create
from hubless.builder.pipeline.draft import delete
from hubless.builder.recipe import Metric
from hubless.errors import InputError
from hubless.store.catalog import check_name
from hubless_service import openapi
from hubless_service.http import responses
from hubless_service.http.answers import CollectionAnswer, CollectionsAnswer, DeletedCollectionAnswer
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import CreateCollectionRequest, DeleteCollectionRequest
from hubless_service.routes.route import Admin, AppState, Call, Held, Place, UrlOf, Writer
from hubless_service.routes.route import router as make_router

log = logging.getLogger("hubless.catalog")
router = make_router("collections")
_PATH = "/v1/collections/{collection}"


@router.get("/v1/collections", **openapi.about("All collections that are served", CollectionsAnswer, *openapi.UNSERVED))
async def list_collections(call: Call) -> Response:
    """/readyz names those that cannot be served."""
    served = call.service.engine.shelf.collections(call.access)
    return responses.send({"collections": [describe(call.service, collection) for collection in served]})


@router.get(_PATH, **openapi.about("One collection", CollectionAnswer, "collection_not_found", *openapi.UNSERVED))
async def get_collection(call: Call, held: Held) -> Response:
    """Its size, its correction, and how well that was measured to work."""
    return responses.send(describe(call.service, held))


@router.put(
    _PATH,
    **openapi.about(
        "Create an empty collection",
        CollectionAnswer,
        *openapi.BODY,
        *openapi.FIELDS,
        "forbidden",
        "collection_exists",
        *openapi.UNSERVED,
        also={201: {"model": CollectionAnswer, "description": "It was created."}},
    ),
)
async def create_collection(call: Call, collection: str, access: Writer, body: CreateCollectionRequest) -> Response:
    """It can be written to at once. Until a query bank is given its offsets are 0.

    If it is there with these settings, the answer is 200, and nothing changes.
    """
    service = call.service
    check_name(collection)
    if not access.sees(collection):
        raise HttpProblem("forbidden", "The key is for other collections.")
    if collection in await asyncio.to_thread(service.engine.catalog.aliases):
        raise InputError("collection", "a name that is no alias", repr(collection))
    settings: dict[str, Any] = {"dim": body.dim, "id_type": body.id_type, "payload_schema": body.payload_schema}
    settings |= {"dims": body.dims, "keep_full": bool(body.keep_full)}
    making = partial(create, service.engine.catalog.path, collection, metric=cast(Metric, body.metric), **settings)
    created = await asyncio.to_thread(making)
    if created:
        log.info('collection "%s" was created, id=%s', collection, call.trace.request_id)
        service.engine.shelf.drop(collection)  # one of that name that was deleted through another worker
        await asyncio.to_thread(service.engine.look_now)
    await service.engine.appears(collection)
    document = describe(service, service.engine.shelf.collection(collection, access))
    return responses.send(document, status=201 if created else 200)


@router.delete(
    _PATH,
    **openapi.about(
        "Delete a collection, with all its versions and writes",
        DeletedCollectionAnswer,
        *openapi.FIELDS,
        "forbidden",
        "collection_not_found",
        "collection_aliased",
        *openapi.UNSERVED,
    ),
)
async def delete_collection(
    call: Call, collection: str, access: Admin, place: Place, url: UrlOf[DeleteCollectionRequest]
) -> Response:
    """Nothing of it can be had back. Needs its own name, not an alias, and a key of role admin.

    Refused while aliases stand for it, unless they are to go, too.
    """
    engine = call.service.engine
    await asyncio.to_thread(partial(delete, engine.catalog, collection, aliases=url.aliases or False))
    log.info('collection "%s" was deleted, id=%s', collection, call.trace.request_id)
    call.service.engine.shelf.drop(collection)
    await asyncio.to_thread(engine.look_now)
    return responses.send({"collection": collection, "deleted": True})


def describe(state: AppState, collection: hubless.Collection) -> CollectionAnswer:
    """Return the document of a collection."""
    manifest, live = collection.manifest, state.engine.live.of(collection)
    chosen, sampling = live.chosen, state.engine.sampling
    kept = sampling.summary(manifest.collection) if sampling else None
    return {
        "name": manifest.collection,
        "version": manifest.version,
        "created": manifest.created,
        "count": manifest.count,
        "dim": manifest.dim,
        "dims": manifest.dims,
        "metric": manifest.metric,
        "correction": manifest.correction,
        "index": manifest.index,
        "measured": manifest.measured,
        "confidence": manifest.confidence,
        "strength": collection.strength,
        "live": None
        if chosen is None
        else {"recommended_strength": chosen.strength, "queries": chosen.different, "state": chosen.state},
        "query_sample": kept and {"queries": kept.queries, "asked": kept.seen, "since": kept.begins.isoformat()},
        "bank": manifest.bank,
        "id_type": manifest.id_type,
        "payload": collection.parts.payload_kind,
        "payload_columns": [*collection.parts.payload_types],
        "payload_types": collection.parts.payload_types,
        "text": collection.parts.encoder is not None,
        "writes": {
            "seq": collection.seq,
            "log_bytes": state.engine.catalog.log_bytes(manifest.collection),
            "added": collection.parts.added,
            "removed": collection.parts.removed,
            "frozen_share": collection.parts.frozen_share,
        },
        "versions": [*state.engine.shelf.version_ids.get(collection.name, ())],
        "aliases": [alias for alias, of in state.engine.shelf.aliases.items() if of.collection == collection.name],
    }
