"""The query bank: given, described, and the sample of it that a version stores."""

import re
from asyncio import sleep, to_thread
from time import perf_counter
from typing import Any, cast

import numpy as np
from fastapi import Response

from hubless import Collection
from hubless.builder.banks.payload_queries import MOST_PAYLOAD_QUERIES, payload_queries
from hubless.builder.lifecycle import check_refittable
from hubless.corrections.roles import text_of
from hubless.errors import InputError, names_of
from hubless.store.bank_order import BankOrder, give_bank, read_order
from hubless.vectors.free_payload import is_free
from hubless_service import openapi
from hubless_service.http.answers import BankAnswer, BankQueryAnswer, CountedAnswer, WorkAnswer
from hubless_service.http.problems import PROBLEM_TYPES, HttpProblem
from hubless_service.http.requests import BinaryBankRequest, PutBankRequest
from hubless_service.http.responses import send, served
from hubless_service.routes.route import Administered, Call, Held, routes_of
from hubless_service.searching.search_service import SearchService

bank_routes = routes_of("collections")
_PATH = "/v1/collections/{collection}/bank"
_AS_SENT = ("correction", "parameters", "relevant", "sampled", "trusted")
"""Fields that an order has as they were sent."""
_NUMBER = re.compile("[0-9]{1,9}")
_LOOK_SECONDS = 0.05


@bank_routes.at(
    "PUT",
    _PATH,
    "Fit the correction on a query bank",
    BankAnswer,
    *openapi.QUERIES,
    *openapi.SEARCHED,
    "log_damaged",
    "precondition_failed",
    also={202: {"model": BankAnswer, "description": "It is on the disk, and not fitted yet."}},
    **openapi.other_bodies(
        BinaryBankRequest,
        "b · dim · 4 bytes, little-endian float32, one query after the other; other fields stand in the URL.",
        "A stream with the column `vector`: fixed_size_list<float32>, and perhaps `relevant`: ids, or lists of ids, "
        "and `groups`; other fields stand in the URL.",
    ),
)
async def put_bank(call: Call, held: Administered, body: PutBankRequest) -> Response:
    """The service makes a version of all targets, with a correction that is fitted on these queries.

    200 if that is served within the time of the request, and else 202: it goes on, after a restart, too, and `GET` says
    how far it is. If another version is activated meanwhile, that stays, and nothing comes of the bank: 412. With
    `sampled` it begins as soon as so many live queries count, a tenth at most of one client.
    """
    engine = call.engine
    name = held.name
    check_refittable(held.manifest, body.correction, body.fit_by)
    if not held.parts.targets.room(None):
        raise InputError("collection", "at least one target with a vector; put targets, then the bank", "none")
    deadline = call.trace.started + (body.timeout_ms or call.settings.default_timeout_ms) / 1000
    order = await _give(call, held, body)
    fitted = False
    if order.fit and order.sampled is None:
        engine.maintainer.fit(name)
        fitted = await _fitted(engine, name, order.number, deadline)
        if fitted:
            await engine.freshness.answer(name)
    waiting = await to_thread(read_order, engine.catalog.path / name)
    document = await _describe(engine, engine.shelf.collection(name), waiting)
    if fitted:
        return send(document)
    return send(document, (b"location", f"/v1/collections/{name}/bank".encode()), status=202)


@bank_routes.at("GET", _PATH, "The query bank that the correction was fitted on", BankAnswer)
async def get_bank(call: Call, held: Held) -> Response:
    """And how far the fit is of a bank that was put."""
    waiting = await to_thread(
        read_order, call.engine.catalog.path / held.name
    )  # once: it may be fitted before a second look
    if waiting is None:
        await call.engine.freshness.serves_current(call.trace, held.name)
        held = call.engine.shelf.collection(held.name)
    return send(await _describe(call.engine, held, waiting))


@bank_routes.at(
    "GET",
    f"{_PATH}/{{number}}",
    "One of the bank queries that are stored",
    BankQueryAnswer,
    "forbidden",
    "invalid_input",
)
async def get_bank_query(call: Call, held: Held, number: str) -> Response:
    """A version stores at most 512 queries of its bank, at random. They count from 0.

    People may have asked them, and texts can be guessed from vectors: `HUBLESS_BANK_READERS` says who may read them.
    """
    role, sample = call.settings.bank_readers, held.parts.bank_sample
    if not call.access.has(role):
        raise HttpProblem("forbidden", f"Stored bank queries need a key of role {role}.")
    if sample is None:
        raise InputError("number", f"none, as version {held.version} stores no bank queries", number)
    wanted = int(number) if _NUMBER.fullmatch(number) else -1
    if not 0 <= wanted < len(sample):
        raise InputError("number", f"a whole number from 0 to {len(sample) - 1}", number)
    answer: BankQueryAnswer = {
        "number": wanted,
        "stored": len(sample),
        "vector": held.parts.space.plain(sample[wanted : wanted + 1])[0],
        **served(held),
    }
    return send(answer)


async def _give(call: Call, held: Collection, body: PutBankRequest) -> BankOrder:
    """Bring a bank to the disk."""
    home = call.engine.catalog.path / held.name
    most = call.settings.max_bank_queries
    append = body.mode == "append"
    waiting = await to_thread(read_order, home) if append else None
    groups = _groups(held, body, waiting)  # before texts are encoded
    plain = held.parts.space.plain
    if body.vectors is not None:
        queries = plain(np.concatenate(body.vectors))
    elif body.sampled is not None:
        if call.settings.query_sample is None:
            raise InputError("sampled", "a service that samples queries: set HUBLESS_QUERY_SAMPLE", "none")
        queries = np.empty((0, held.dim), np.float32)
    elif body.payload is not None:
        queries = await to_thread(payload_queries, held, body.payload, min(MOST_PAYLOAD_QUERIES, most))
    else:
        texts = dict(enumerate(body.texts_ or ()))
        encoded = await call.engine.encoding.vectors(
            call.trace, held, texts, lambda place: f"texts[{place}].", call.deadline
        )
        queries = plain(np.concatenate([encoded[place] for place in texts]))
    count = len(queries) + (waiting.queries if waiting else 0)
    if count > most:
        raise InputError("vectors", f"at most {most} queries in all", count)
    return await to_thread(
        give_bank,
        home,
        queries,
        append=append,
        fit=body.fit is not False,
        **{name: getattr(body, name) for name in _AS_SENT},
        **groups,
        since=held.manifest.bank_order,
    )


def _groups(held: Collection, body: PutBankRequest, waiting: BankOrder | None) -> dict[str, Any]:
    """Return the fields of an order that say by which payload column a correction is fitted, and for which groups."""
    known = held.manifest.fit_by if waiting is None or waiting.sampled is not None else waiting.fit_by
    column = (known or "") if body.fit_by is None else body.fit_by
    if not column:
        if body.groups is not None:
            raise InputError("groups", "none without fit_by, which names their payload column", "some")
        return {"fit_by": ""}
    schema = held.parts.payload_schema
    if schema is None or not (is_free(schema) or column in schema.names):
        known_columns = "no payload" if schema is None else names_of(schema.names)
        raise InputError("fit_by", "a payload column, which names the group of each target", known_columns)
    if body.groups is None:
        raise InputError(
            "groups",
            f'for each query its group, as the correction is fitted by {column}; fit_by "" fits one for all',
            "none",
        )
    return {"fit_by": column, "groups": [text_of(each) for each in body.groups]}


async def _fitted(engine: SearchService, name: str, number: int, deadline: float) -> bool:
    """Wait until a bank is fitted and served. Return whether it is."""
    while perf_counter() < deadline:
        status = await to_thread(engine.maintainer.status, name)
        if status is not None and status.number >= number and status.state != "running":
            if status.state == "failed":
                said = dict(status.problem or {})
                code, detail = said.pop("code", ""), said.pop("detail", "")
                raise HttpProblem(code if code in PROBLEM_TYPES else "internal_error", detail, said)
            if (status.version or "") <= engine.shelf.collection(name).version:  # ids sort by age
                return True
        await sleep(_LOOK_SECONDS)
    return False


async def _describe(engine: SearchService, holder: Collection, waiting: BankOrder | None) -> BankAnswer:
    """Return what is told of the bank of a version, and of one that waits."""
    bank = holder.manifest.bank
    counted = await to_thread(engine.maintainer.counted, holder.name, waiting)
    status = await to_thread(engine.maintainer.status, holder.name)
    return {
        "queries": bank.queries if bank else 0,
        "stored": 0 if holder.parts.bank_sample is None else len(holder.parts.bank_sample),
        "coverage": bank.coverage if bank else None,
        "held_back": [*bank.held_back] if bank else [],
        "decided": holder.manifest.decided,
        "correction": holder.manifest.correction.name,
        "fit_by": holder.manifest.fit_by,
        "frozen_share": holder.parts.frozen_share,
        "waiting": None
        if waiting is None
        else {
            "queries": waiting.queries,
            "mode": "append" if waiting.append else "replace",
            "fit": waiting.fit,
            "fit_by": waiting.fit_by or None,
            "sampled": waiting.sampled,
            "counted": counted and cast(CountedAnswer, counted._asdict()),
        },
        "work": status and WorkAnswer(**status.model_dump(exclude={"number"})),
        **served(holder),
    }
