"""How the server is: for probes and for Prometheus."""

import asyncio

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.access.keys import NOTHING
from hubless_service.http import answers
from hubless_service.http.problems import RETRY_AFTER, Problem
from hubless_service.http.schemas import Alive, Ready
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.state import state_of

router = APIRouter(route_class=DirectRoute, tags=["health"])
PLAIN_TEXT = {"schema": {"type": "string"}}
READY = {
    "status": "ready",
    "collections": {"stdlib": {"status": "ready", "version": examples.VERSION, "count": 5214}},
}


@router.get("/livez", summary="Whether the process answers", responses=openapi.answers(Alive, {"status": "ok"}))
async def livez(request: Request) -> Response:
    """Touches nothing: restart the process if there is no answer."""
    return answers.answer({"status": "ok"})


@router.get("/readyz", summary="Whether queries are answered", responses=openapi.answers(Ready, READY, "not_ready"))
async def readyz(request: Request) -> Response:
    """Ready as soon as everything is loaded and its canary queries were answered rightly.

    A collection that cannot be served is named here; the server is ready for the others. Where there are API keys, only
    a request that bears one is told of collections.
    """
    engine, access = state_of(request).engine, access_of(request)
    details = {} if access is NOTHING else {"collections": engine.details(access)}
    if engine.draining:
        raise Problem("not_ready", "The server is about to stop.", details, RETRY_AFTER)
    if engine.ready:
        return answers.answer({"status": "ready", **details})
    if engine.loading:
        raise Problem("not_ready", "Collections are being loaded.", details, RETRY_AFTER)
    raise Problem("not_ready", engine.verdict(), details)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **openapi.refusals("forbidden"),
    },
)
async def metrics(request: Request) -> Response:
    """Requests, errors, latency by stage, collections by state, the process's memory.

    A key that is limited to some collections may not see them.
    """
    if not state_of(request).settings.metrics_public and access_of(request).collections is not None:
        raise Problem("forbidden", "A key that is limited to some collections may not see the metrics of all.")
    # in a thread, as the files of many workers take their time
    return Response(await asyncio.to_thread(state_of(request).metrics.page), media_type=CONTENT_TYPE_LATEST)
