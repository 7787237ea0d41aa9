"""Where targets and bank queries lie, on a plane."""

from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import Field

import hubless
from hubless.errors import UnknownField
from hubless.measures.projection import Projection
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import state_of
from hubless_service.http import bodies, responses, values
from hubless_service.http.insights import ProjectionAnswer
from hubless_service.http.problems import clip
from hubless_service.http.requests import RequestModel, read
from hubless_service.http.trace import trace_of
from hubless_service.http.values import Subject
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.insight import insight_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_DIGITS = 5
_EMPTY = np.empty((0, 2), np.float32)
_NOWHERE = Projection(np.empty(0, np.int64), _EMPTY, _EMPTY, np.zeros(2))
_VALUES = 10
_LONGEST_COLUMN = 1000  # or a wrong one would not fit into a head that is as large as heads may be


class ProjectionRequest(RequestModel):
    """The URL of the projection. The column is read apart, as its name may look like a number."""

    column: Annotated[str, values.Text(_LONGEST_COLUMN)] | None = Field(
        default=None, description="A payload column whose values are sent too."
    )


@router.get(
    "/v1/collections/{collection}/projection",
    summary="Targets and bank queries on their first two principal components",
    responses=openapi.answers(
        ProjectionAnswer,
        examples.PROJECTION_ANSWER,
        "collection_not_found",
        "invalid_input",
        "unknown_field",
        *openapi.SEARCHED,
    ),
    openapi_extra={"parameters": openapi.url_parameters(ProjectionRequest)},
)
async def get_projection(request: Request, collection: str) -> Response:
    """Of the version as it was built: at most 5,000 targets, always with those that are found most often."""
    state = state_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    given = bodies.url_fields(request)
    if "column" in given:
        given["column"] = request.query_params["column"]
    column = read(ProjectionRequest, given, Subject(asked, state.settings)).column
    known = asked.origin.manifest.payload_columns
    if column is not None and column not in known:
        expected = f"one of {', '.join(known)}" if known else "none, as there is no payload"
        raise UnknownField("column", f"payload columns: {expected}", clip(column))
    answer = await state.engine.run(trace_of(request), partial(_projection, asked.origin, column), asked)
    return await responses.send_heavy(_VALUES * len(answer["targets"]["id"]), lambda: answer)


def _projection(version: hubless.Collection, column: str | None) -> ProjectionAnswer:
    insight = insight_of(version)
    drawn = insight.projection(version) or _NOWHERE
    rows = drawn.rows
    counts = insight.counts(version)
    raw, corrected = (None, None) if counts is None else counts.occurrence[:, rows].tolist()
    return {
        "count": version.count,
        "method": drawn.method,
        "explained": None if drawn.explained is None else _rounded(drawn.explained),
        "targets": {
            "id": version.ids(rows),
            "x": _rounded(drawn.targets[:, 0]),
            "y": _rounded(drawn.targets[:, 1]),
            "offset": _rounded(version.offsets[rows]),
            "raw": raw,
            "corrected": corrected,
            "value": None if column is None else _values(version, rows, column),
        },
        "queries": {"x": _rounded(drawn.queries[:, 0]), "y": _rounded(drawn.queries[:, 1])},
        "collection": version.name,
        "version": version.version,
    }


def _rounded(numbers: Any) -> list[float]:
    rounded: list[float] = np.round(numbers.astype(np.float64), _DIGITS).tolist()
    return rounded


def _values(version: hubless.Collection, rows: Any, column: str) -> list[Any]:
    return [None if row is None else row.get(column) for row in version.payload(rows, [column])]
