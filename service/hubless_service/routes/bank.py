"""The query bank: given, described, and the sample of it that a version stores."""

import asyncio
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import cast

import numpy as np
from fastapi import APIRouter, Request, Response

import hubless
from hubless.builder.lifecycle import check_refittable
from hubless.errors import HublessError, InputError
from hubless.store.bank_order import BankOrder, give_bank, read_order
from hubless_service import openapi
from hubless_service.access.authentication import access_of, check_admin
from hubless_service.access.keys import EVERYTHING
from hubless_service.app_state import AppState, state_of
from hubless_service.http import bodies, heavy, responses
from hubless_service.http.arrow import ARROW
from hubless_service.http.given_bank import GivenBank, read_bank
from hubless_service.http.insights import BankAnswer, BankQueryAnswer, WaitingBank, WorkAnswer
from hubless_service.http.problems import PROBLEM_TYPES, HttpProblem, clip
from hubless_service.http.requests import BinaryBankRequest, PutBankRequest
from hubless_service.http.trace import trace_of
from hubless_service.http.values import Subject
from hubless_service.maintaining.status import Status, as_json
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_LONGEST = 9
"""Digits of a number that is worth reading."""
_LOOK_SECONDS = 0.05
_SWITCH_SECONDS = 2.0
_ANSWERS = openapi.answers(
    BankAnswer,
    examples.BANK_ANSWER,
    "malformed_body",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
    "forbidden",
    "collection_not_found",
    "invalid_input",
    "unknown_field",
    "dimension_mismatch",
    "not_finite",
    "zero_vector",
    "no_encoder",
    "unknown_words",
    "text_refused",
    "encoder_failed",
    "encoder_timeout",
    "log_damaged",
    *openapi.SEARCHED,
)


@router.put(
    "/v1/collections/{collection}/bank",
    summary="Fit the correction on a query bank",
    responses={**_ANSWERS, 202: _ANSWERS[200] | {"description": "It is on the disk, and not fitted yet."}},
    openapi_extra=openapi.body(
        PutBankRequest,
        binary="b · dim · 4 bytes, little-endian float32, one query after the other.",
        arrow="A stream with one column, `vector`: fixed_size_list<float32>.",
        url=BinaryBankRequest,
    ),
)
async def put_bank(request: Request, collection: str) -> Response:
    """The service makes a version of all targets, with a correction that is fitted on these queries.

    200 if that is served within the time of the request, and else 202: it goes on, after a restart, too, and `GET` says
    how far it is.
    """
    state = state_of(request)
    holder = state.shelf.collection(collection, check_admin(request, state.settings.origins))
    kind = bodies.media_type(request, bodies.JSON, bodies.BINARY, ARROW)
    _check_refittable(holder)
    body = await bodies.receive(request, state.settings, batch=True)
    subject = Subject(holder, state.settings)
    given = await heavy.run(len(body), partial(read_bank, request, kind, body, subject))
    deadline = trace_of(request).started + (given.options.timeout_ms or state.settings.default_timeout_ms) / 1000
    order = await _give(request, state, holder, given)
    fitted = False
    if order.fit:
        state.engine.maintainer.ask(holder.name, "bank")
        fitted = await _fitted(state, holder.name, order.number, deadline)
    answer = await _describe(state, state.shelf.collection(holder.name, EVERYTHING))
    place = {"Location": f"/v1/collections/{holder.name}/bank"}
    return responses.send(answer, None if fitted else place, 200 if fitted else 202)


@router.get(
    "/v1/collections/{collection}/bank",
    summary="The query bank that the correction was fitted on",
    responses=openapi.answers(BankAnswer, examples.BANK_ANSWER, "collection_not_found", *openapi.UNSERVED),
)
async def get_bank(request: Request, collection: str) -> Response:
    """And how far the fit is of a bank that was put."""
    state, access = state_of(request), access_of(request)
    holder = state.shelf.collection(collection, access)
    if await asyncio.to_thread(read_order, _home(state, holder)) is None:
        holder = await _switched(state, holder)
    return responses.send(await _describe(state, holder))


@router.get(
    "/v1/collections/{collection}/bank/{number}",
    summary="One of the bank queries that are stored",
    responses=openapi.answers(
        BankQueryAnswer,
        examples.BANK_QUERY_ANSWER,
        "forbidden",
        "collection_not_found",
        "invalid_input",
        *openapi.UNSERVED,
    ),
)
async def get_bank_query(request: Request, collection: str, number: str) -> Response:
    """A version stores at most 512 queries of its bank, at random. They count from 0.

    People may have asked them, and texts can be guessed from vectors: `HUBLESS_BANK_READERS` says who may read them.
    """
    state, access = state_of(request), access_of(request)
    held = state.shelf.collection(collection, access)
    if not access.has(state.settings.bank_readers):
        raise HttpProblem("forbidden", f"Stored bank queries need a key of role {state.settings.bank_readers}.")
    sample = held.bank_sample
    if sample is None:
        raise InputError("number", f"none, as version {held.version} stores no bank queries", clip(number))
    wanted = int(number) if number.isdecimal() and number.isascii() and len(number) <= _LONGEST else -1
    if not 0 <= wanted < len(sample):
        raise InputError("number", f"a whole number from 0 to {len(sample) - 1}", clip(number))
    answer: BankQueryAnswer = {
        "number": wanted,
        "stored": len(sample),
        "vector": sample[wanted],
        "collection": held.name,
        "version": held.version,
    }
    return responses.send(answer)


def _check_refittable(holder: hubless.Collection) -> None:
    """Refuse at once what the work would refuse later."""
    check_refittable(holder.manifest)
    if not holder.source.targets.room(None):
        raise InputError("collection", "at least one target with a vector; put targets, then the bank", "none")


async def _give(request: Request, state: AppState, holder: hubless.Collection, given: GivenBank) -> BankOrder:
    """Bring a bank to the disk."""
    queries, options = given.queries, given.options
    if given.texts:
        encoded = await state.engine.encode(request, holder, given.texts, lambda place: f"texts[{place}].")
        queries = np.concatenate([encoded[place] for place in given.texts])
    home, append = _home(state, holder), options.mode == "append"
    waiting = await asyncio.to_thread(read_order, home) if append else None
    count, most = len(queries) + (waiting.queries if waiting else 0), state.settings.max_bank_queries
    if count > most:
        raise InputError("vectors", f"at most {most} queries in all", str(count))
    giving = partial(
        give_bank,
        home,
        queries,
        append=append,
        fit=options.fit is not False,
        correction=options.correction,
        parameters=options.parameters,
        since=holder.manifest.bank_order,
    )
    return await asyncio.to_thread(giving)


async def _fitted(state: AppState, name: str, number: int, deadline: float) -> bool:
    """Wait until a bank is fitted and served. Return whether it is.

    Raises
    ------
    HttpProblem
        if the bank is refused.
    """
    while perf_counter() < deadline:
        status = await asyncio.to_thread(state.engine.maintainer.status, name)
        if status is not None and status.number >= number and status.state != "running":
            if status.state == "failed":
                raise _problem_of(status)
            if (status.version or "") <= state.shelf.collection(name, EVERYTHING).version:  # ids sort by age
                return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False


async def _switched(state: AppState, holder: hubless.Collection) -> hubless.Collection:
    """The collection as it is served once a version is current that has just been made: no bank waits for it any more.

    Without this, an answer could say that no bank waits and describe the version before.
    """
    until = perf_counter() + _SWITCH_SECONDS
    while perf_counter() < until:
        try:
            if await asyncio.to_thread(state.engine.catalog.current, holder.name) == holder.version:
                break
        except HublessError:
            break  # what is served is described all the same
        state.engine.look_now()
        await asyncio.sleep(_LOOK_SECONDS)
        holder = state.shelf.collection(holder.name, EVERYTHING)
    return holder


def _problem_of(status: Status) -> HttpProblem:
    said = dict(status.problem or {})
    code, detail = said.pop("code", ""), said.pop("detail", "")
    return HttpProblem(code if code in PROBLEM_TYPES else "internal_error", detail, said)


def _home(state: AppState, holder: hubless.Collection) -> Path:
    return state.engine.catalog.path / holder.name


def _waiting(order: BankOrder | None) -> WaitingBank | None:
    if order is None:
        return None
    return {"queries": order.queries, "mode": "append" if order.append else "replace", "fit": order.fit}


async def _describe(state: AppState, holder: hubless.Collection) -> BankAnswer:
    home, bank = _home(state, holder), holder.manifest.bank
    waiting = await asyncio.to_thread(read_order, home)
    status = await asyncio.to_thread(state.engine.maintainer.status, holder.name)
    return {
        "queries": bank.queries if bank else 0,
        "stored": 0 if holder.bank_sample is None else len(holder.bank_sample),
        "coverage": bank.coverage if bank else None,
        "correction": holder.manifest.correction.name,
        "frozen_share": holder.frozen_share,
        "waiting": _waiting(waiting),
        "work": None if status is None else cast(WorkAnswer, as_json(status)),
        "collection": holder.name,
        "version": holder.version,
    }
