"""The server: its health, for probes and for Prometheus, and what a key may do there."""

import asyncio
from datetime import UTC, datetime

from fastapi import Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from hubless_service.access.authentication import ACCESS
from hubless_service.access.keys import NOTHING
from hubless_service.http.answers import AccessAnswer, AliveAnswer, ReadyAnswer
from hubless_service.http.problems import HttpProblem
from hubless_service.http.responses import send
from hubless_service.routes.route import Call, routes_of
from hubless_service.searching.collection_sources import CatalogSource, RemoteSource
from hubless_service.searching.shelf import NOTHING_TO_SERVE, as_problem

health_routes = routes_of("health")


@health_routes.at("GET", "/v1/access", "What your key may do", AccessAnswer)
async def get_access(call: Call) -> Response:
    """Works with any key that the server knows."""
    access = call.access
    limit = access.collections
    answer: AccessAnswer = {
        "keys": ACCESS in call.scope,
        "role": access.role,
        "collections": None if limit is None else sorted(limit),
        "bank_queries": access.has(call.settings.bank_readers),
    }
    return send(answer)


@health_routes.at("GET", "/livez", "Whether the process answers", AliveAnswer, public=True)
async def livez(call: Call) -> Response:
    """Reads nothing. Restart the process if there is no answer."""
    return send({"status": "ok"})


@health_routes.at("GET", "/readyz", "Whether queries are answered", ReadyAnswer, public=True)
async def readyz(call: Call) -> Response:
    """Ready once every collection is loaded and gives the right answers to its canary queries.

    Names each collection that cannot be served; the server is ready for the others. Where there are API keys, only a
    request with a key is told the names. With an empty catalog the server is ready too, and `note` says so.
    """
    access = call.access
    shelf = call.engine.shelf
    details: dict[str, object] = {}
    if access is not NOTHING:
        seen = {name: slot.details() for name, slot in shelf.slots.items() if access.sees(name)}
        details = {"collections": seen, **_store(call.engine.catalog)}
    if call.engine.draining:
        raise HttpProblem("not_ready", "The server is about to stop.", details)
    if shelf.ready:
        note = {"note": NOTHING_TO_SERVE} if shelf.empty else {}
        return send({"status": "ready", **note, **details})
    if shelf.loading:
        raise HttpProblem("not_ready", "Collections are being loaded.", details)
    detail = as_problem(shelf.failure).detail if shelf.failure else "No collection is sound: see collections."
    raise HttpProblem("not_ready", detail, details, headers={})


def _store(store: CatalogSource) -> dict[str, object]:
    """Return the state of the object storage with the catalog."""
    if not isinstance(store, RemoteSource):
        return {}
    found = store.state
    synced = datetime.fromtimestamp(found.synced, UTC).isoformat(timespec="seconds") if found.synced else None
    return {"store": {"address": store.address, "synced": synced, "trouble": found.trouble or None}}


@health_routes.at("GET", "/metrics", "Metrics for Prometheus", None, "forbidden", response_class=PlainTextResponse)
async def metrics(call: Call) -> Response:
    """Requests, errors, latency by stage, collections by state, memory of the process.

    A key that is limited to some collections may not read them.
    """
    if not call.settings.metrics_public and call.access.collections is not None:
        raise HttpProblem("forbidden", "A key that is limited to some collections may not see the metrics of all.")
    # in a thread, as reading the files of many workers takes time
    return Response(await asyncio.to_thread(call.engine.metrics.page), media_type=CONTENT_TYPE_LATEST)
