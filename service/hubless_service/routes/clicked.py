"""Clicks: the targets that people chose for their queries, told by whoever shows them the hits."""

import numpy as np
from fastapi import Response

from hubless.errors import InputError, PointNotFound, names_of
from hubless.store.kept_clicks import Click
from hubless_service import openapi
from hubless_service.http.answers import ClicksAnswer
from hubless_service.http.problems import describe
from hubless_service.http.requests import ClicksRequest
from hubless_service.http.responses import send, served
from hubless_service.observing.traffic import is_traffic
from hubless_service.routes.route import Call, Told, routes_of
from hubless_service.routes.searches import what_is_asked

click_routes = routes_of("clicks")


@click_routes.at(
    "POST",
    "/v1/collections/{collection}/clicks",
    "Tell which targets people chose",
    ClicksAnswer,
    *openapi.QUERIES,
    *openapi.SEARCHED,
    "point_not_found",
    "log_damaged",
)
async def post_clicks(call: Call, held: Told, body: ClicksRequest) -> Response:
    """All or none. When this is answered they are on the disk, beside the query sample, for a build to learn from."""
    sampling = call.engine.sampling
    if sampling is None:
        raise InputError("clicks", "a service that samples queries: set HUBLESS_QUERY_SAMPLE", "none")
    told = body.clicks
    asked = [what_is_asked(click.query, f"clicks[{place}].query.") for place, click in enumerate(told)]
    rows = await call.run(held, held.find, [click.target for click in told])
    unknown = [
        f"clicks[{place}].target {describe(click.target)}"
        for place, (click, row) in enumerate(zip(told, rows, strict=True))
        if row is None
    ]
    if unknown:
        raise PointNotFound(f"{names_of(unknown)}: no target has this id; nothing was kept")
    vectors = {place: each for place, each in enumerate(asked) if isinstance(each, np.ndarray)}
    vectors |= await call.engine.encoding.vectors(
        call.trace, held, dict(enumerate(asked)), lambda place: f"clicks[{place}].query.", call.deadline
    )
    answer: ClicksAnswer = {"kept": 0, **served(held)}
    if is_traffic(call.trace, {}, 0.0):
        clicks = [Click(vectors[place], each.target, each.position, each.client) for place, each in enumerate(told)]
        await sampling.keep_clicks(call.trace, held, clicks)
        answer["kept"] = len(clicks)
    return send(answer)
