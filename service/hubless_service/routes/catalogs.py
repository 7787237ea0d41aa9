"""The collections that are served."""

from functools import partial
from typing import cast

from fastapi import APIRouter, Request, Response

import hubless
from hubless.measures.evenness import ChosenStrength
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import AppState, state_of
from hubless_service.http import responses
from hubless_service.http.answers import CollectionAnswer, CollectionsAnswer, HubnessAnswer, LiveFigures, SampleFigures
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute

router = APIRouter(route_class=DirectRoute, tags=["collections"])


@router.get(
    "/v1/collections",
    summary="All collections that are served",
    responses=openapi.answers(CollectionsAnswer, {"collections": [examples.COLLECTION_ANSWER]}, *openapi.UNSERVED),
)
async def list_collections(request: Request) -> Response:
    """/readyz names those that cannot be served."""
    state = state_of(request)
    served = state.shelf.collections(access_of(request))
    answer: CollectionsAnswer = {"collections": [describe(state, collection) for collection in served]}
    return responses.send(answer)


@router.get(
    "/v1/collections/{collection}",
    summary="One collection",
    responses=openapi.answers(CollectionAnswer, examples.COLLECTION_ANSWER, "collection_not_found", *openapi.UNSERVED),
)
async def get_collection(request: Request, collection: str) -> Response:
    """Its size, its correction, and how well that was measured to work."""
    state = state_of(request)
    return responses.send(describe(state, state.shelf.collection(collection, access_of(request))))


@router.get(
    "/v1/collections/{collection}/hubness",
    summary="How hubby the answers are that a collection gives",
    responses=openapi.answers(HubnessAnswer, examples.HUBNESS_ANSWER, "collection_not_found", *openapi.SEARCHED),
)
async def get_hubness(request: Request, collection: str) -> Response:
    """Counted over the recent queries. Each version begins anew."""
    state = state_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    document = await state.engine.run(trace_of(request), partial(state.engine.live.describe, asked), asked)
    return responses.send(cast(HubnessAnswer, {**document, "collection": asked.name, "version": asked.version}))


def _live(chosen: ChosenStrength | None) -> LiveFigures | None:
    if chosen is None:
        return None
    return {"recommended_strength": chosen.strength, "queries": chosen.different, "state": chosen.state}


def _sample(state: AppState, collection: str) -> SampleFigures | None:
    sampling = state.engine.sampling
    if not sampling or not (kept := sampling.summary(collection)):
        return None
    return {"queries": kept.queries, "asked": kept.seen, "since": kept.begins.isoformat()}


def describe(state: AppState, collection: hubless.Collection) -> CollectionAnswer:
    """The document of a collection."""
    manifest, shelf, live = collection.manifest, state.shelf, state.engine.live
    return {
        "name": manifest.collection,
        "version": manifest.version,
        "created": manifest.created,
        "count": manifest.count,
        "dim": manifest.dim,
        "metric": manifest.metric,
        "correction": manifest.correction,
        "index": manifest.index,
        "measured": manifest.measured,
        "strength": live.strength(collection),
        "live": _live(live.recommended(collection)),
        "query_sample": _sample(state, manifest.collection),
        "bank": manifest.bank,
        "id_type": manifest.id_type,
        "payload": collection.payload_kind,
        "payload_columns": [*collection.payload_types],
        "payload_types": collection.payload_types,
        "text": collection.has_encoder,
        "writes": {
            "seq": collection.seq,
            "log_bytes": state.engine.catalog.log_bytes(manifest.collection),
            "added": collection.added,
            "removed": collection.removed,
            "frozen_share": collection.frozen_share,
        },
        "versions": [*shelf.version_ids.get(collection.name, ())],
        "aliases": shelf.aliases_of(collection.name),
    }
