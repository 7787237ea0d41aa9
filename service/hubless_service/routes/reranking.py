"""Lists of one query from any searches, ours among them: each is corrected by itself, then they are fused."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from fastapi import Response

import hubless
from hubless.errors import InputError
from hubless.measures.labelled_answers import DEPTH
from hubless.scores.fusion import FUSIONS, Fused
from hubless.scores.score_correction import Reranked
from hubless.search.collection import FULL_STRENGTH
from hubless_service import openapi
from hubless_service.http import heavy
from hubless_service.http.requests import QueryRequest, read
from hubless_service.http.responses import send
from hubless_service.http.score_answers import CertaintyAnswer, RerankAnswer, RerankedHit, certainty_of
from hubless_service.http.score_requests import ListToRerank, RerankRequest
from hubless_service.http.values import Json, Subject
from hubless_service.observing.traffic import is_traffic
from hubless_service.routes.route import Call, readable_collection, routes_of
from hubless_service.routes.scores import kept
from hubless_service.routes.searches import query_of

rerank_routes = routes_of("scores")
RERANK_PATH = "/v1/rerank"
_USUAL_HITS = 50
_VALUES = 20
"""Work on a hit, in values of JSON."""
_FUSION = next(iter(FUSIONS))


class ListOfOne(NamedTuple):
    """A list as it was sent or found, and what corrects it; None if nothing has to."""

    ids: list[Any]
    scores: list[float]
    distance: bool
    correction: hubless.ScoreCorrection | None
    payload: Sequence[Json | None] = ()


@rerank_routes.at(
    "POST",
    RERANK_PATH,
    "Correct lists of any search, each by its own correction, and fuse them",
    RerankAnswer,
    *openapi.QUERIES,
    *openapi.SEARCHED,
    "collection_not_found",
    "point_not_found",
    "scores_not_found",
)
async def rerank(call: Call, body: RerankRequest) -> Response:
    """A list has ids and scores, or is a query to a collection, which is searched here."""
    found = [await _found(call, body, each, f"lists[{place}].") for place, each in enumerate(body.lists)]
    started = perf_counter()
    weight = _VALUES * sum(len(each.ids) for each in found)
    answer = await heavy.run(weight, lambda: _answer(body, found, call.settings.usual_limit))
    call.trace.add("rescore", perf_counter() - started)
    for each in body.lists:
        if each.correction is not None and is_traffic(call.trace, {"strength": each.strength}, FULL_STRENGTH):
            call.engine.learning.note(call.trace, each.correction, each.ids or (), each.scores or ())
    return send(answer)


async def _found(call: Call, body: RerankRequest, each: ListToRerank, where: str) -> ListOfOne:
    """Return a list, searched for if it is a query."""
    if each.collection is None:
        correction = None if each.correction is None else await kept(call, each.correction)
        distance = bool(each.distance) if correction is None else correction.distance
        return ListOfOne(each.ids or [], each.scores or [], distance, correction)
    held = await readable_collection(call, each.collection)
    given = {"limit": _USUAL_HITS, "timeout_ms": body.timeout_ms, **each.query}
    try:
        asked = read(QueryRequest, given, Subject(held, call.settings))
    except InputError as error:
        raise error.about(f"{where}{error.parameter}") from error
    if asked.with_ is not None and asked.with_.vector:
        raise InputError(f"{where}with", "payload, or columns of it", "vector")
    (hits,) = await call.engine.search(call.trace, held, [query_of(asked, call.settings, where)])
    ids, scores = hits.results.ids[hits.line], hits.results.scores[hits.line]
    return ListOfOne(list(ids[: hits.k]), scores[: hits.k].tolist(), False, None, hits.beside.payload or ())


def _answer(body: RerankRequest, lists: list[ListOfOne], usual: int) -> RerankAnswer:
    """Return the hits of lists that are corrected and fused, and how sure the first hit is where a cut tells it.

    Raises `InputError` where the cut, `min_accuracy` and the lists do not go together.
    """
    limit = body.limit or usual
    only = lists[0] if len(lists) == 1 and body.fusion is None else None
    corrected = [
        _corrected(each, FULL_STRENGTH if sent.strength is None else sent.strength, f"lists[{place}].")
        for place, (each, sent) in enumerate(zip(lists, body.lists, strict=True))
    ]
    fused = _fused(body, corrected, limit, alone=only is not None)
    unknown = [each.unknown for each in corrected]
    answer: RerankAnswer = {"hits": [], "unknown": unknown, "answered": True, **_judged(body, only, fused.scores)}
    if answer["answered"]:
        answer["hits"] = _hits(fused, lists, limit)
    return answer


def _fused(body: RerankRequest, corrected: list[Reranked], limit: int, *, alone: bool) -> Fused:
    """Return one list of all. A list alone keeps its corrected scores."""
    if alone:
        ids, scores, *_ = corrected[0]
        return Fused(ids, scores, [[score] for score in scores])
    weights = [1.0 if sent.weight is None else sent.weight for sent in body.lists]
    most = limit if body.cut is None else max(limit, DEPTH)
    return hubless.fuse(corrected, weights=weights, by=body.fusion or _FUSION, limit=most)


def _judged(body: RerankRequest, only: ListOfOne | None, scores: list[float]) -> CertaintyAnswer:
    """Return how sure the best hit is, by the cut of the request, or by that of the correction of a list alone.

    The cut of a correction takes scores of which the higher is better. That of the request says what it takes.
    """
    own = None if only is None or only.correction is None else only.correction.cut
    down = only is not None and only.distance
    if body.cut is not None:
        if body.cut.distance != down:
            raise InputError("cut", f"one of scores, {'lower' if down else 'higher'} is better", "another")
        return certainty_of(body.cut, scores, body.min_accuracy)
    if own is not None:
        return certainty_of(own, [-score for score in scores] if down else scores, body.min_accuracy)
    if body.min_accuracy:
        raise InputError("min_accuracy", "a cut beside it, or one list whose correction has labels", "none")
    return {}


def _hits(fused: Fused, lists: list[ListOfOne], limit: int) -> list[RerankedHit]:
    """Return the first hits, each with the payload that the first list of it brought."""
    payload: dict[Any, Json | None] = {}
    for each in reversed(lists):
        payload |= zip(each.ids, each.payload, strict=False)
    columns = zip(fused.ids[:limit], fused.scores, fused.parts, strict=False)
    hits: list[RerankedHit] = [{"id": id_, "score": score, "parts": parts} for id_, score, parts in columns]
    for hit in hits:
        if hit["id"] in payload:
            hit["payload"] = payload[hit["id"]]
    return hits


def _corrected(each: ListOfOne, strength: float, where: str) -> Reranked:
    """Return a list, best first."""
    if each.correction is not None:
        try:
            return each.correction.rerank(each.ids, each.scores, strength=strength)
        except InputError as error:
            raise error.about(f"{where}{error.parameter}") from error
    order = sorted(range(len(each.scores)), key=each.scores.__getitem__, reverse=not each.distance)
    return Reranked([each.ids[place] for place in order], [each.scores[place] for place in order], [])
