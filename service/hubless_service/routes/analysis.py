"""Hubness: of the live queries, of the bank queries, planted, and drawn on a plane."""

import asyncio
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from fastapi import Response
from numpy.typing import NDArray

from hubless import Collection, measures
from hubless.builder.pipeline.survey import K_OCCURRENCE
from hubless.measures import k_occurrence
from hubless.measures.chance import Chance
from hubless.measures.projection import Projection
from hubless.search.parts import projection
from hubless.store.kept_scan import kept_scan
from hubless.vectors.arrays import F32, I64
from hubless_service.http.answers import (
    FindingsAnswer,
    HubnessAnswer,
    OccurrenceAnswer,
    ProjectionAnswer,
    QueryFinding,
    RankingOccurrence,
    ScanAnswer,
)
from hubless_service.http.requests import FindingsRequest, OccurrenceRequest, ProjectionRequest
from hubless_service.http.responses import send, send_heavy, served
from hubless_service.http.values import check_column
from hubless_service.openapi import SEARCHED
from hubless_service.routes.route import Call, Held, OwnName, UrlOf, routes_of
from hubless_service.searching.once import OnceAVersion

hubness_routes = routes_of("collections")
_PATH = "/v1/collections/{collection}"
_TOGETHER = 32
_SHARE = 0.5  # of the time of a request for live hubness: to search again
_HUBS = 20
_DIGITS = 5
_VALUES = 10
_EMPTY = np.empty((0, 2), np.float32)
_NOWHERE = Projection(np.empty(0, np.int64), _EMPTY, _EMPTY, np.zeros(2))


@hubness_routes.at(
    "GET",
    f"{_PATH}/hubness",
    "How hubby the answers are that a collection gives",
    HubnessAnswer,
    *SEARCHED,
)
async def get_hubness(call: Call, held: Held) -> Response:
    """Counted over the recent queries. Each version begins anew.

    Up to 512 of them are searched again at several strengths, once a twentieth is new, and while there is time.
    """
    live = call.engine.live(held)
    await live.compare(held, lambda work: call.engine.run(call.trace, work, held, _SHARE))
    return send({**await call.run(held, live.describe, held), **served(held)})


@hubness_routes.at(
    "GET",
    f"{_PATH}/occurrence",
    "How often targets are found by bank queries, and the hubs",
    OccurrenceAnswer,
    *SEARCHED,
)
async def get_occurrence(call: Call, held: Held, url: UrlOf[OccurrenceRequest]) -> Response:
    """Of the version as it was built, raw and corrected at strength 1."""
    return send(await call.run(held, _occurrence, held.origin, url.limit or _HUBS))


@hubness_routes.at(
    "GET",
    f"{_PATH}/occurrence/queries",
    "Which bank queries find a target",
    FindingsAnswer,
    *SEARCHED,
    "point_not_found",
)
async def get_findings(call: Call, held: Held, url: UrlOf[FindingsRequest]) -> Response:
    """Asks the stored bank queries, raw and at strength 1. The first request for a version takes longest."""
    return send(await call.run(held, _findings, held.origin, url.id))


@hubness_routes.at("GET", f"{_PATH}/scan", "The last scan for planted hubs that was kept", ScanAnswer)
async def get_scan(call: Call, name: OwnName) -> Response:
    """`hubless scan --set keep=true` keeps it."""
    kept = await asyncio.to_thread(kept_scan, call.engine.catalog.home(name))
    return send({"scan": kept, "collection": name})


@hubness_routes.at(
    "GET",
    f"{_PATH}/projection",
    "Targets and bank queries on their first two principal components",
    ProjectionAnswer,
    *SEARCHED,
)
async def get_projection(call: Call, held: Held, url: UrlOf[ProjectionRequest]) -> Response:
    """Of the version as it was built: at most 5,000 targets, always with those that are found most often."""
    if url.column is not None:
        check_column(url.column, held.origin.manifest.payload_columns, "column")
    answer = await call.run(held, _projection, held.origin, url.column)
    return await send_heavy(_VALUES * len(answer["targets"]["id"]), lambda: answer)


def _occurrence(version: Collection, limit: int) -> OccurrenceAnswer:
    """Return N_10 of a version in figures, histograms and at most `limit` hubs of each ranking."""
    counts = _counts(version)
    if counts is None:
        nobody_counted = dict.fromkeys(("source", "raw", "corrected", "chance", "never"))
        answer = {"k": K_OCCURRENCE, "queries": 0, "held_out": False, **nobody_counted, **served(version)}
        return cast(OccurrenceAnswer, answer)
    found = counts.occurrence.astype(np.int64)
    never = found == 0
    both = np.flatnonzero(never.all(axis=0))
    chance = Chance.of(counts.queries, found.shape[1], K_OCCURRENCE)
    return {
        "k": K_OCCURRENCE,
        "queries": counts.queries,
        "held_out": counts.held_out,
        "source": counts.source,
        "raw": _ranking(version, found, found[0], limit),
        "corrected": _ranking(version, found, found[1], limit),
        "chance": {"skewness": chance.skewness, "most": chance.most, "antihub_share": chance.antihubs},
        "never": {
            "raw": int(never[0].sum()),
            "corrected": int(never[1].sum()),
            "both": len(both),
            "ids": version.ids(both[:limit]),
        },
        **served(version),
    }


def _ranking(version: Collection, found: NDArray[np.int64], counts: I64, limit: int) -> RankingOccurrence:
    often, targets = np.unique(counts, return_counts=True)
    rows = np.argsort(-counts, kind="stable")[:limit]
    rows = rows[counts[rows] > 0]
    columns = (version.ids(rows), version.offsets[rows].tolist(), *found[:, rows].tolist())
    return {
        "skewness": measures.skewness(counts),
        "most": int(counts.max()),
        "antihub_share": measures.antihub_occurrence(counts),
        "histogram": [
            {"occurrence": each, "targets": n} for each, n in zip(often.tolist(), targets.tolist(), strict=True)
        ],
        "hubs": [
            {"id": id_, "offset": offset, "raw": raw, "corrected": corrected}
            for id_, offset, raw, corrected in zip(*columns, strict=True)
        ],
    }


def _findings(version: Collection, text: str) -> FindingsAnswer:
    wanted = version.parts.ids.parse(text)
    row = version.row(wanted)
    finds = _finds(version)
    raw, corrected = ([], []) if finds is None else (_of_row(version, finds, ranking, row) for ranking in finds)
    return {
        "id": wanted,
        "queries": 0 if finds is None else finds.shape[1],
        "raw": raw,
        "corrected": corrected,
        **served(version),
    }


def _of_row(version: Collection, finds: I64, ranking: I64, row: int) -> list[QueryFinding]:
    queries, places = np.nonzero(ranking == row)
    firsts = version.ids(finds[1, queries, 0])
    return [
        {"query": query, "rank": place + 1, "first": first}
        for query, place, first in zip(queries.tolist(), places.tolist(), firsts, strict=True)
    ]


def _projection(version: Collection, column: str | None) -> ProjectionAnswer:
    """Return the drawn targets, with their values of a payload column, and the bank queries."""
    drawn = _known_projection(version)
    counts = _counts(version)
    rows = drawn.rows
    raw, corrected = (None, None) if counts is None else counts.occurrence[:, rows].tolist()
    (x, y), (asked_x, asked_y) = map(_rounded, drawn.targets.T), map(_rounded, drawn.queries.T)
    value = None if column is None else [row and row.get(column) for row in version.payload(rows, [column])]
    return {
        "count": version.count,
        "method": drawn.method,
        "explained": None if drawn.explained is None else _rounded(drawn.explained),
        "targets": {
            "id": version.ids(rows),
            "x": x,
            "y": y,
            "offset": _rounded(version.offsets[rows]),
            "raw": raw,
            "corrected": corrected,
            "value": value,
        },
        "queries": {"x": asked_x, "y": asked_y},
        **served(version),
    }


def _rounded(numbers: Any) -> list[float]:
    return cast(list[float], np.round(numbers.astype(np.float64), _DIGITS).tolist())


class Counts(NamedTuple):
    """N_10 (2, n) of the targets, raw and corrected, over how many queries, who counted, and whether they are new."""

    occurrence: NDArray[np.integer]
    queries: int
    source: Literal["build", "sample"]
    held_out: bool = False


@OnceAVersion
def _finds(version: Collection) -> I64 | None:
    """Return the first ten (2, s, k) of each query of the bank sample, raw and at full strength; None without one."""
    sample = version.parts.bank_sample
    if sample is None or not version.count:
        return None
    return np.stack([_ranked(version, sample, strength) for strength in (0.0, 1.0)])


def _ranked(version: Collection, sample: F32, strength: float) -> I64:
    parts = [sample[start : start + _TOGETHER] for start in range(0, len(sample), _TOGETHER)]
    return np.concatenate([version.query(part, K_OCCURRENCE, strength, prepared=True).rows for part in parts])


def _counts(version: Collection) -> Counts | None:
    """Return how often each target is found; None if that was not measured, and there is no sample of the bank."""
    stored = version.parts.occurrence()
    measured = version.manifest.measured
    if stored is not None and measured is not None:
        return Counts(stored, measured.queries, "build", measured.held_out)
    if (finds := _finds(version)) is None:
        return None
    return Counts(np.stack([k_occurrence(rows, version.count) for rows in finds]), finds.shape[1], "sample")


# what takes a while is computed once a version, in a search thread
_known_projection = OnceAVersion(lambda version: projection(version.parts) or _NOWHERE)
