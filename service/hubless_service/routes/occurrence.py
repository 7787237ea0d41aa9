"""How often targets are found by bank queries: the hubs, those never found, and who finds them."""

from functools import partial
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Request, Response
from numpy.typing import NDArray
from pydantic import Field

import hubless
from hubless import measures
from hubless.errors import InputError
from hubless.measures.chance import Chance
from hubless.vectors.arrays import I64
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import state_of
from hubless_service.http import bodies, responses, values
from hubless_service.http.insights import (
    FindingsAnswer,
    HubOccurrence,
    OccurrenceAnswer,
    QueryFinding,
    RankingOccurrence,
)
from hubless_service.http.requests import RequestModel, read
from hubless_service.http.trace import trace_of
from hubless_service.http.values import Subject
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.insight import K, insight_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_HUBS = 20
_PROBLEMS = ("collection_not_found", "invalid_input", "unknown_field", *openapi.SEARCHED)
_ID = {
    "name": "id",
    "in": "query",
    "required": True,
    "schema": {"type": "string"},
    "description": "Of the target. A number stands as its digits.",
}


class OccurrenceRequest(RequestModel):
    """The URL of the occurrence."""

    limit: Annotated[int, values.Whole("max_limit")] | None = Field(
        default=None, description="How many hubs of each ranking, and how many ids never found; 20 if not given."
    )


class FindingsRequest(RequestModel):
    """The URL of the findings, without the id."""


@router.get(
    "/v1/collections/{collection}/occurrence",
    summary="How often targets are found by bank queries, and the hubs",
    responses=openapi.answers(OccurrenceAnswer, examples.OCCURRENCE_ANSWER, *_PROBLEMS),
    openapi_extra={"parameters": openapi.url_parameters(OccurrenceRequest)},
)
async def get_occurrence(request: Request, collection: str) -> Response:
    """Of the version as it was built, raw and corrected at strength 1."""
    state = state_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    wanted = read(OccurrenceRequest, bodies.url_fields(request), Subject(asked, state.settings))
    work = partial(_occurrence, asked.origin, wanted.limit or _HUBS)
    return responses.send(await state.engine.run(trace_of(request), work, asked))


@router.get(
    "/v1/collections/{collection}/occurrence/queries",
    summary="Which bank queries find a target",
    responses=openapi.answers(FindingsAnswer, examples.FINDINGS_ANSWER, "point_not_found", *_PROBLEMS),
    openapi_extra={"parameters": [_ID]},
)
async def get_findings(request: Request, collection: str) -> Response:
    """Asks the stored bank queries, raw and at strength 1. The first request for a version takes longest."""
    state = state_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    given = bodies.url_fields(request)
    if given.pop("id", None) is None:
        raise InputError("id", "the id of a target", "none")
    read(FindingsRequest, given, Subject(asked, state.settings))
    work = partial(_findings, asked.origin, request.query_params["id"])
    return responses.send(await state.engine.run(trace_of(request), work, asked))


def _occurrence(version: hubless.Collection, limit: int) -> OccurrenceAnswer:
    counts, measured = insight_of(version).counts(version), version.manifest.measured
    answer: OccurrenceAnswer = {
        "k": K,
        "queries": 0,
        "held_out": False,
        "source": None,
        "raw": None,
        "corrected": None,
        "chance": None,
        "never": None,
        "collection": version.name,
        "version": version.version,
    }
    if counts is None:
        return answer
    found = counts.occurrence.astype(np.int64)
    never = found == 0
    both = np.flatnonzero(never.all(axis=0))
    chance = Chance.of(counts.queries, found.shape[1], K)
    return {
        **answer,
        "queries": counts.queries,
        "held_out": counts.stored and measured is not None and measured.held_out,
        "source": "build" if counts.stored else "sample",
        "raw": _ranking(version, found, found[0], limit),
        "corrected": _ranking(version, found, found[1], limit),
        "chance": {"skewness": chance.skewness, "most": chance.most, "antihub_share": chance.antihubs},
        "never": {
            "raw": int(never[0].sum()),
            "corrected": int(never[1].sum()),
            "both": len(both),
            "ids": version.ids(both[:limit]),
        },
    }


def _ranking(version: hubless.Collection, found: NDArray[np.int64], counts: I64, limit: int) -> RankingOccurrence:
    often, targets = np.unique(counts, return_counts=True)
    rows = np.argsort(-counts, kind="stable")[:limit]
    rows = rows[counts[rows] > 0]
    hubs: list[HubOccurrence] = [
        {"id": id_, "offset": offset, "raw": raw, "corrected": corrected}
        for id_, offset, raw, corrected in zip(
            version.ids(rows), version.offsets[rows].tolist(), *found[:, rows].tolist(), strict=True
        )
    ]
    return {
        "skewness": measures.skewness(counts),
        "most": int(counts.max()),
        "antihub_share": measures.antihub_occurrence(counts),
        "histogram": [
            {"occurrence": each, "targets": n} for each, n in zip(often.tolist(), targets.tolist(), strict=True)
        ],
        "hubs": hubs,
    }


def _findings(version: hubless.Collection, text: str) -> FindingsAnswer:
    wanted = version.parse_id(text)
    row = version.row(wanted)
    finds = insight_of(version).finds(version)
    raw, corrected = ([], []) if finds is None else (_of_row(version, finds, ranking, row) for ranking in finds)
    return {
        "id": wanted,
        "queries": 0 if finds is None else finds.shape[1],
        "raw": raw,
        "corrected": corrected,
        "collection": version.name,
        "version": version.version,
    }


def _of_row(version: hubless.Collection, finds: I64, ranking: I64, row: int) -> list[QueryFinding]:
    queries, places = np.nonzero(ranking == row)
    firsts = version.ids(finds[1, queries, 0])
    return [
        {"query": query, "rank": place + 1, "first": first}
        for query, place, first in zip(queries.tolist(), places.tolist(), firsts, strict=True)
    ]
