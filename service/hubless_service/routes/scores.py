"""Corrections of scores that are kept by name: learned from past lists of any search, or put as a file."""

import logging
from asyncio import to_thread
from typing import cast

from fastapi import Response

from hubless import ScoreCorrection
from hubless.errors import ScoresNotFound
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.store.names import check_name
from hubless_service import openapi
from hubless_service.http.answers import CountedAnswer, WorkAnswer
from hubless_service.http.responses import send
from hubless_service.http.score_answers import AllScoresAnswer, DeletedScoresAnswer, ScoresAnswer
from hubless_service.http.score_requests import PutScoresRequest, ScoresOptions
from hubless_service.maintaining.work import read_status
from hubless_service.routes.route import AdminAccess, Call, routes_of

_log = logging.getLogger("hubless.administration")
score_routes = routes_of("scores")
_PATH = "/v1/scores/{name}"
_ARROW = (
    "The columns `id` and `offset`, as `hubless log --output NAME.arrow` writes them; or `ids` and `scores`, a row a "
    "query; or `query`, `id` and `score`, a row a hit. Buffers are not compressed; other fields stand in the URL."
)


def _check_seen(call: Call, name: str) -> None:
    """Raise `ScoresNotFound` for a name that is not for the key of a request."""
    if not call.access.sees(name):
        raise ScoresNotFound(f'There is no correction of scores "{name}".')


async def kept(call: Call, name: str) -> ScoreCorrection:
    """Return a correction as it is now, whichever worker put it. Raises `ScoresNotFound`."""
    scores = call.engine.scores
    _check_seen(call, name)
    loaded = scores.loaded(name)
    return await to_thread(scores.get, name) if loaded is None else loaded


@score_routes.at("GET", "/v1/scores", "All corrections of scores", AllScoresAnswer, "storage")
async def list_scores(call: Call) -> Response:
    """Lists those that the key may see: a key for some collections sees corrections of the same names."""
    scores = call.engine.scores

    def found() -> AllScoresAnswer:
        names = [name for name in scores.names() if call.access.sees(name)]
        return {"scores": [_describe(scores, name, scores.get(name)) for name in names]}

    return send(await to_thread(found))


@score_routes.at("GET", _PATH, "One correction of scores", ScoresAnswer, "scores_not_found", "storage")
async def get_scores(call: Call, name: str) -> Response:
    """Says what it was learned from, and how many labels calibrated it."""
    correction = await kept(call, name)
    return send(await to_thread(_describe, call.engine.scores, name, correction))


@score_routes.at(
    "PUT",
    _PATH,
    "Keep a correction of scores, and replace that of the same name",
    ScoresAnswer,
    "storage",
    also={201: {"model": ScoresAnswer, "description": "The name is new."}},
    **openapi.other_bodies(ScoresOptions, arrow=f"A stream. {_ARROW}", file=f"A file. {_ARROW}"),
)
async def put_scores(call: Call, name: str, access: AdminAccess, body: PutScoresRequest) -> Response:
    """It is learned from past lists of any search, or comes as a file of `hubless log`.

    All workers use it from the answer on. Lists are read for seconds at most; learn from more by `hubless log`.
    """
    engine = call.engine
    check_name(name, "name")
    async with engine.fitting:
        correction = await to_thread(body.correction)
    new = await to_thread(engine.scores.put, name, correction, body.learns_from())
    answer = await to_thread(_describe, engine.scores, name, correction)
    _log.info('scores "%s" were put, id=%s', name, call.trace.request_id)
    return send(answer, status=201 if new else 200)


@score_routes.at(
    "DELETE", _PATH, "Delete a correction of scores", DeletedScoresAnswer, "forbidden", "scores_not_found", "storage"
)
async def delete_scores(call: Call, name: str) -> Response:
    """Lists that name it are refused from the answer on, by all workers."""
    _check_seen(call, name)
    call.check_role("admin")
    await to_thread(call.engine.scores.delete, name)
    _log.info('scores "%s" were deleted, id=%s', name, call.trace.request_id)
    return send({"name": name, "deleted": True})


def _describe(scores: KeptCorrections, name: str, correction: ScoreCorrection) -> ScoresAnswer:
    cut = correction.cut
    learned = scores.learned(name)
    learns = learned.put.exists()
    status = read_status(learned.home)
    return {
        "name": name,
        "items": len(correction.ids),
        "distance": correction.distance,
        "details": correction.details,
        "pairs": None if cut is None else cut.pairs,
        "accuracies": [] if cut is None else cut.accuracies,
        "learning": learned.kept() if learns else None,
        "counted": cast(CountedAnswer, learned.counted()._asdict()) if learns else None,
        "held_back": learned.held_back(),
        "work": status and WorkAnswer(**status.model_dump(exclude={"number"})),
    }
