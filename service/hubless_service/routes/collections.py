"""What is served."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.http import answers
from hubless_service.http.schemas import CollectionInfo, Collections, LiveHubness, fields_of
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.engine import Engine
from hubless_service.state import state_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_SHOWN = fields_of(CollectionInfo)


@router.get(
    "/v1/collections",
    summary="All collections that are served",
    responses=openapi.answers(Collections, {"collections": [examples.COLLECTION]}, *openapi.UNSERVED),
)
async def list_collections(request: Request) -> Response:
    """Those that cannot be served are in /readyz."""
    engine = state_of(request).engine
    served = engine.collections(access_of(request))
    return answers.answer({"collections": [_info(engine, collection) for collection in served]})


@router.get(
    "/v1/collections/{collection}",
    summary="One collection",
    responses=openapi.answers(CollectionInfo, examples.COLLECTION, "collection_not_found", *openapi.UNSERVED),
)
async def get_collection(request: Request, collection: str) -> Response:
    """Its size, its correction, and how well that was measured to work."""
    engine = state_of(request).engine
    return answers.answer(_info(engine, engine.collection(collection, access_of(request))))


@router.get(
    "/v1/collections/{collection}/hubness",
    summary="How hubby the answers are that a collection gives",
    responses=openapi.answers(LiveHubness, examples.HUBNESS, "collection_not_found", *openapi.SEARCHED),
)
async def get_hubness(request: Request, collection: str) -> Response:
    """Of the queries that it answered lately; they begin anew with each version."""
    state = state_of(request)
    asked = state.engine.collection(collection, access_of(request))
    document = await state.engine.run(trace_of(request), partial(state.engine.live.describe, asked))
    return answers.answer({**document, "collection": asked.name, "version": asked.version})


def _info(engine: Engine, collection: hubless.Collection) -> dict[str, Any]:
    manifest = collection.manifest.model_dump(mode="json")
    return {
        "name": collection.name,
        **{name: value for name, value in manifest.items() if name in _SHOWN},
        "payload_types": collection.payload_types,
        "text": collection.has_encoder,
        "versions": engine.version_ids(collection.name),
        "aliases": engine.aliases_of(collection.name),
    }
