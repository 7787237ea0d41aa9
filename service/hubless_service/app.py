"""The factory of the ASGI app."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp

from hubless_service import openapi
from hubless_service.access.attempts import Attempts
from hubless_service.access.authentication import Authenticate
from hubless_service.access.keys import Keys
from hubless_service.http import handlers
from hubless_service.observing.metrics import Metrics
from hubless_service.observing.middleware import Observe
from hubless_service.routes import aliases, collections, documentation, health, points, query, versions
from hubless_service.searching.door import Door
from hubless_service.searching.engine import Engine
from hubless_service.searching.entries import STATES
from hubless_service.searching.source import CatalogSource
from hubless_service.settings import Settings
from hubless_service.state import State

if TYPE_CHECKING:
    from hubless_service.observing.tracing import Tracing

DESCRIPTION = """Vector search without hubs: in each hit score = similarity − strength · offset, where the offset is
the hubness of the target. Errors are problem documents (RFC 9457) with a stable `code`."""
ROUTERS = (query, collections, points, versions, aliases, health)
_LOOK_SECONDS = 0.05

CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
CORS_HEADERS = ("Authorization", "X-API-Key", "Content-Type", "If-Match", "If-None-Match", "X-Request-ID")
CORS_EXPOSED = ("ETag", "Retry-After", "Server-Timing", "X-Request-ID")


class App(FastAPI):
    """FastAPI without the middlewares that it puts around ours: `Observe` does what is needed of that, at less cost."""

    def build_middleware_stack(self) -> ASGIApp:
        """What answers a request, from the outside in: our middlewares, problem documents for errors, the routes."""
        app: ASGIApp = ExceptionMiddleware(self.router, handlers=self.exception_handlers)
        for middleware, positional, named in reversed(self.user_middleware):
            app = middleware(app, *positional, **named)
        return app


def create_app(
    settings: Settings,
    engine: Engine | None = None,
    *,
    door: Door | None = None,
    tracing: "Tracing | None" = None,
) -> FastAPI:
    """Make the service.

    Parameters
    ----------
    settings : what can be set
    engine : what is searched; by default the collections of the catalog in the settings
    tracing : where the spans of requests go; by default where OpenTelemetry's variables say, if `settings.traces`
    door : when to begin to take requests, where others take them too; by default at once

    Raises
    ------
    StorageError, InputError
        if there is a file of keys that cannot be used.
    """
    if engine is None:
        source = CatalogSource(settings.catalog, settings.encoders, settings.filter_cache_bytes)
        engine = Engine(source, settings)
    if tracing is None and settings.traces:
        from hubless_service.observing.tracing import from_environment

        tracing = from_environment(version("hubless"))
    metrics = Metrics()
    keys = Keys(settings)
    entrance = door or Door()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        keys.start()
        engine.start(on_loaded=entrance.open)
        while not (entrance.lets_in(loading=engine.loading) or engine.draining):
            await asyncio.sleep(_LOOK_SECONDS)
        yield
        engine.stop()
        keys.stop()
        if tracing:
            await asyncio.to_thread(tracing.close)

    app = App(
        title="hubless",
        version=version("hubless"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # of which we have our own
        lifespan=lifespan,
        # not included as routers, in which FastAPI looks for the route twice
        routes=[route for part in ROUTERS for route in part.router.routes],
    )
    app.state.hubless = State(settings, engine, metrics)
    documentation.install(app)
    openapi.install(app)
    handlers.install(app)
    metrics.show(
        lambda: {state: engine.count(state) for state in STATES},
        engine.versions,
        engine.load_times,
        engine.live.hubness,
        engine.live.drift,
    )
    engine.report(metrics.observe_batch, metrics.set_waiting, metrics.set_breaker)
    # the last is the outermost
    if keys.wanted:
        app.add_middleware(
            Authenticate,
            keys=keys,
            metrics_public=settings.metrics_public,
            attempts=Attempts(settings.max_wrong_keys),
            on_failure=metrics.count_failed_key,
        )
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=CORS_METHODS,
            allow_headers=CORS_HEADERS,
            expose_headers=CORS_EXPOSED,
        )
    app.add_middleware(Observe, metrics=metrics, log_share=settings.log_share, tracing=tracing)
    return app
