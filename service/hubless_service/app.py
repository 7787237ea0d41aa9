"""Makes the ASGI app."""

import asyncio
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from operator import setitem
from time import monotonic
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hubless.errors import how_to_install
from hubless.kernels.pools import start_all
from hubless_service import openapi
from hubless_service.access.attempts import Attempts
from hubless_service.access.authentication import METRICS, PUBLIC, KeyCheck
from hubless_service.access.keys import Keys
from hubless_service.gauges import ServedGauges
from hubless_service.http import heavy, problems
from hubless_service.observing.middleware import Observer
from hubless_service.processes.shared import Shared
from hubless_service.routes import (
    analysis,
    bank,
    catalogs,
    clicked,
    health,
    points,
    reranking,
    scores,
    searches,
    thumbnails,
    versions,
)
from hubless_service.routes.front import Front
from hubless_service.routes.page_routes import PAGES
from hubless_service.routes.route import AppState
from hubless_service.searching.collection_sources import CatalogSource, RemoteSource
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

DESCRIPTION = """Vector search without hubs: in each hit score = similarity − strength · offset, where the offset is
the hubness of the target. Errors are problem documents (RFC 9457) with a stable `code`."""
LICENCE = {"name": "Apache 2.0", "identifier": "Apache-2.0"}
_HOST, _PORT = (Settings.model_fields[name].default for name in ("host", "port"))
SERVERS: list[dict[str, Any]] = [
    {"url": "/", "description": "The server that this document comes from."},
    {"url": f"http://{_HOST}:{_PORT}", "description": "Where `hubless serve` listens by default."},
]
ROUTERS = (
    searches.query_routes,
    catalogs.collection_routes,
    analysis.hubness_routes,
    bank.bank_routes,
    clicked.click_routes,
    points.point_routes,
    points.write_routes,
    thumbnails.picture_routes,
    versions.version_routes,
    catalogs.alias_routes,
    scores.score_routes,
    reranking.rerank_routes,
    health.health_routes,
)
_LOOK_SECONDS = 0.05
_THREADS = 8
"""For work on the disk that requests wait for."""
_END_SECONDS = 5.0  # that all threads together have to end

TRACES_TO = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables of OpenTelemetry: if one of them is set, traces are sent."""
CORS_HEADERS = (
    "Authorization",
    "X-API-Key",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "X-Request-ID",
    "X-No-Sample",
)
CORS_EXPOSED = ("ETag", "Retry-After", "Server-Timing", "X-Request-ID")

_log = logging.getLogger("hubless")


class App(FastAPI):
    """FastAPI without the middlewares that it puts around ours. `Front` does their work at less cost."""

    front: Front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.front(scope, receive, send)

    async def through_layers(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the layers around the routes."""
        await super().__call__(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Build the stack, from the outside in: problem documents for errors, the routes."""
        for route in self.router.routes:
            if isinstance(route, Route):
                # Starlette's pattern ends in `$`, which also matches before a line's end: `points/x%0A` would find `x`.
                # And its `.` is any character but a line's end: an id with one inside would not be found
                route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z", re.DOTALL)
        return ExceptionMiddleware(self.router, handlers=self.exception_handlers)

    def openapi(self) -> dict[str, Any]:
        """Return the contract."""
        if not self.openapi_schema:
            self.openapi_schema = openapi.complete(super().openapi())
        return self.openapi_schema


def create_app(
    settings: Settings,
    engine: SearchService | None = None,
    *,
    first: bool = True,
    tracing: "Tracing | None" = None,
    shared: Shared | None = None,
) -> FastAPI:
    """Make the service. If it is not the `first` worker, it takes no request before that one and itself have loaded."""
    if engine is None:
        source = CatalogSource(settings.folder, settings.encoders)
        if settings.address is not None:
            source = RemoteSource(settings.address, settings.folder, settings.poll_seconds, settings.encoders)
        engine = SearchService(source, settings, shared)
    tracing = tracing or _tracing()
    keys = Keys(settings)
    metrics, shared = engine.metrics, engine.shared

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Work before the first request, and after the last answer."""
        start_all(heavy.THREAD, 1)
        asyncio.get_running_loop().set_default_executor(working := ThreadPoolExecutor(_THREADS, "work"))
        start_all(working, _THREADS)
        watching = asyncio.create_task(keys.watch())
        engine.start(on_loaded=partial(setitem, shared.loaded, shared.slot, 1) if first else lambda: None)
        while not (first or engine.draining or (any(shared.loaded) and not engine.shelf.loading)):
            await asyncio.sleep(_LOOK_SECONDS)
        yield
        watching.cancel()
        threads = engine.stop()
        if tracing:
            threads.append(_begun(tracing.close))
        await _join(threads)
        await _join([_begun(engine.close)])

    app = App(
        title="hubless",
        version=version("hubless"),
        description=DESCRIPTION,
        license_info=LICENCE,
        servers=SERVERS,
        separate_input_output_schemas=False,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # we have our own
        lifespan=lifespan,
        exception_handlers={HTTPException: problems.on_http_exception},
        # not included as routers, in which FastAPI looks for the route twice
        routes=[*(route for router in ROUTERS for route in router.routes), *PAGES],
    )
    app.state.hubless = state = AppState(settings, engine)
    metrics.live.register(ServedGauges(engine))
    metrics.queue = engine.waiting
    observer = Observer(metrics, tracing)
    check = None
    if keys.wanted:
        public = PUBLIC | {METRICS} if settings.metrics_public else PUBLIC
        check = KeyCheck(keys, Attempts(settings.max_wrong_keys), metrics.failed_keys, public)
    cors = None
    if settings.origins:
        cors = partial(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods="*",
            allow_headers=CORS_HEADERS,
            expose_headers=CORS_EXPOSED,
        )
    app.front = Front(app.through_layers, state, observer, check, cors, app.routes)
    return app


def _tracing() -> "Tracing | None":
    """Return what sends traces, if a variable of OpenTelemetry says where to, and the extra `otel` is installed."""
    if not any(map(os.environ.get, TRACES_TO)):
        return None
    try:
        from hubless_service.observing.tracing import from_environment

        return from_environment(version("hubless"))
    except ImportError:
        _log.warning("%s is set, but traces are not sent: %s", TRACES_TO[0], how_to_install("otel"))
        return None


def _begun(work: Callable[[], None]) -> threading.Thread:
    """A thread that does some work. It does not hold up the end of the process."""
    thread = threading.Thread(target=work, name=work.__qualname__, daemon=True)
    thread.start()
    return thread


async def _join(threads: Iterable[threading.Thread]) -> None:
    """Wait until all threads have ended, or the time is over; the event loop does other work meanwhile."""
    ends = monotonic() + _END_SECONDS
    while (left := sorted(thread.name for thread in threads if thread.is_alive())) and monotonic() < ends:
        await asyncio.sleep(_LOOK_SECONDS / 5)
    if left:
        _log.warning("stopping without %s, still at work", ", ".join(left))
