"""Models of requests about clicks: what was asked, and what was chosen."""

from typing import Annotated

from pydantic import ConfigDict

from hubless_service.http import values
from hubless_service.http.requests import PARTS_OF_REQUESTS, QueryForms, RequestModel, Text
from hubless_service.settings import Settings


class ToldClick(RequestModel):
    """A target that somebody chose among the hits of a query."""

    query: QueryForms
    target: values.StoredId
    position: Annotated[int, values.whole(Settings.max_depth)] | None = None
    """Its rank in the answer, from 1."""
    client: Text | None = None
    """Who chose it: one client counts once for a query and a target. Without it the key is believed: each counts."""


class ClicksRequest(RequestModel):
    """Clicks, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"clicks": [{"query": {"vector": [0.6, 0.8]}, "target": "new"}]}]}
    )
    large = True
    clicks: Annotated[list[ToldClick], values.Several("clicks", Settings.max_batch)]
    """At most 1,000."""


PARTS_OF_REQUESTS |= {ClicksRequest: ("clicks", ToldClick), ToldClick: ("query", QueryForms)}
