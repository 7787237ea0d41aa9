"""What the last scan for planted hubs has found. A job makes it: it takes queries that people asked, and time."""

import asyncio

from fastapi import APIRouter, Request, Response

from hubless.store.kept_scan import kept_scan
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import AppState, state_of
from hubless_service.http import responses
from hubless_service.http.insights import ScanAnswer
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute

router = APIRouter(route_class=DirectRoute, tags=["collections"])


@router.get(
    "/v1/collections/{collection}/scan",
    summary="The last scan for planted hubs that was kept",
    responses=openapi.answers(ScanAnswer, examples.SCAN_ANSWER, "collection_not_found", *openapi.UNSERVED),
)
async def get_scan(request: Request, collection: str) -> Response:
    """`hubless scan --set keep=true` keeps it."""
    state = state_of(request)
    name, _ = state.shelf.slot(collection, access_of(request))
    return responses.send(await asyncio.to_thread(_scan, state, name))


def _scan(state: AppState, name: str) -> ScanAnswer:
    return {"scan": kept_scan(state.engine.catalog.home(name)), "collection": name}
