"""The state that an app holds for its routes."""

from dataclasses import dataclass

from fastapi import Request

from hubless_service.observing.metrics import Metrics
from hubless_service.searching.remote import RemoteSource
from hubless_service.searching.search_service import SearchService
from hubless_service.searching.shelf import Shelf
from hubless_service.settings import Settings


@dataclass(frozen=True, slots=True)
class AppState:
    """One of each per app, set by `create_app`."""

    settings: Settings
    engine: SearchService
    metrics: Metrics
    store: RemoteSource | None = None

    @property
    def shelf(self) -> Shelf:
        """Where collections are looked up."""
        return self.engine.shelf


def state_of(request: Request) -> AppState:
    """The state of the app that the request came to."""
    state: AppState = request.app.state.hubless
    return state
