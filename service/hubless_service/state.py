"""What an app holds for its routes."""

from dataclasses import dataclass

from fastapi import Request

from hubless_service.observing.metrics import Metrics
from hubless_service.searching.engine import Engine
from hubless_service.settings import Settings


@dataclass(frozen=True, slots=True)
class State:
    """One of each per app, set by `create_app`."""

    settings: Settings
    engine: Engine
    metrics: Metrics


def state_of(request: Request) -> State:
    """The state of the app that the request came to."""
    state: State = request.app.state.hubless
    return state
