"""Aliases: other names of collections, which can be moved from one to another without those who ask."""

import asyncio
import logging
import re
from typing import Any

from fastapi import APIRouter, Request, Response

import hubless
from hubless.catalog import check_name
from hubless.errors import AliasNotFound, CollectionNotFound, InputError
from hubless_service import openapi
from hubless_service.access.authentication import access_of, check_admin
from hubless_service.access.keys import Access
from hubless_service.http import answers, bodies
from hubless_service.http.problems import Problem, describe
from hubless_service.http.schemas import Alias, Aliases, AliasRequest, fields_of
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.state import State, state_of

log = logging.getLogger("hubless.administration")
router = APIRouter(route_class=DirectRoute, tags=["aliases"])
_FIELDS = fields_of(AliasRequest)
_TAG = re.compile(r'(?<!W/)"([1-9][0-9]{0,18})"')
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "What If-Match takes."}}
_IF_MATCH = openapi.header_parameter("If-Match", "The ETag that the alias must still have, or * for any.")
_IF_NONE_MATCH = openapi.header_parameter("If-None-Match", "* if the alias may not be there yet.")
_PRECONDITIONS = ("precondition_failed", "precondition_required")


@router.get(
    "/v1/aliases",
    summary="All aliases",
    responses=openapi.answers(Aliases, {"aliases": [examples.ALIAS]}, "storage"),
)
async def list_aliases(request: Request) -> Response:
    """Those of collections that may be seen."""
    found = await _visible(state_of(request), access_of(request))
    return answers.answer({"aliases": [_document(name, alias) for name, alias in found.items()]})


@router.get(
    "/v1/aliases/{alias}",
    summary="What an alias stands for",
    responses=openapi.answers(Alias, examples.ALIAS, "alias_not_found", "storage", headers=_ETAG),
)
async def get_alias(request: Request, alias: str) -> Response:
    """With the ETag that a change of it needs."""
    return _answer(alias, await _alias(state_of(request), alias, access_of(request)))


@router.put(
    "/v1/aliases/{alias}",
    summary="Set an alias, or move it to another collection",
    responses=openapi.answers(
        Alias,
        examples.ALIAS,
        "malformed_body",
        "forbidden",
        "collection_not_found",
        "request_timeout",
        "body_too_large",
        "unsupported_media_type",
        "invalid_input",
        "unknown_field",
        *_PRECONDITIONS,
        "storage",
        headers=_ETAG,
    ),
    openapi_extra={
        **openapi.body(AliasRequest, {"stdlib": {"collection": "stdlib"}}),
        "parameters": [_IF_MATCH, _IF_NONE_MATCH],
    },
)
async def put_alias(request: Request, alias: str) -> Response:
    """Moving one that is there needs If-Match, so that nobody undoes what another has done without knowing of it.

    All workers take it over within moments. A query to an alias is answered with the collection's own name.
    """
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    bodies.media_type(request, bodies.JSON)
    fields = bodies.parse(await bodies.read(request, state.settings))
    bodies.refuse_unknown(fields, _FIELDS)
    collection = fields.get("collection")
    if not isinstance(collection, str):
        raise InputError("collection", "the name of a collection", describe(collection))
    catalog = state.engine.catalog
    # first all that is wrong whatever the headers expect
    check_name(alias, "alias")
    if not (access.sees(collection) and collection in await asyncio.to_thread(catalog.collections)):
        raise CollectionNotFound(f'There is no collection "{collection}".')
    before = (await asyncio.to_thread(catalog.aliases)).get(alias)
    if before and not access.sees(before.collection):
        raise Problem("forbidden", "The key may not see the collection that this stands for.")
    expected = _expected(request, before)
    changed = await asyncio.to_thread(catalog.set_alias, alias, collection, expected=expected)
    log.info('alias "%s" stands for "%s" now, id=%s', alias, collection, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return _answer(alias, changed)


@router.delete(
    "/v1/aliases/{alias}",
    summary="Remove an alias",
    responses=openapi.answers(Alias, examples.ALIAS, "forbidden", "alias_not_found", *_PRECONDITIONS, "storage"),
    openapi_extra={"parameters": [_IF_MATCH]},
)
async def delete_alias(request: Request, alias: str) -> Response:
    """Answers with what it stood for. Needs If-Match."""
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    before = await _alias(state, alias, access)
    removed = await asyncio.to_thread(state.engine.catalog.remove_alias, alias, expected=_expected(request, before))
    log.info('alias "%s" was removed, id=%s', alias, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return answers.answer(_document(alias, removed))


async def _visible(state: State, access: Access) -> dict[str, hubless.Alias]:
    # from the disk, as another worker may have changed them a moment ago
    found = await asyncio.to_thread(state.engine.catalog.aliases)
    return {name: alias for name, alias in found.items() if access.sees(alias.collection)}


async def _alias(state: State, name: str, access: Access) -> hubless.Alias:
    found = await _visible(state, access)
    if name not in found:
        raise AliasNotFound(f'There is no alias "{name}".')
    return found[name]


def _expected(request: Request, before: hubless.Alias | None) -> int:
    """The revision that the headers want the alias to have, 0 for none.

    Raises
    ------
    Problem
        `precondition_failed` if it has another, `precondition_required` if they say nothing of one that is there.
    """
    revision = before.revision if before else 0
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if match is not None and not (before and (match.strip() == "*" or str(revision) in _TAG.findall(match))):
        raise Problem("precondition_failed", "The alias is not the one of If-Match: get it anew.")
    if none_match is not None and before:
        raise Problem("precondition_failed", "The alias is there already.")
    if match is None and before:
        raise Problem("precondition_required", "The alias is there: say in If-Match the ETag that it has, or *.")
    return revision


def _answer(name: str, alias: hubless.Alias) -> Response:
    document = _document(name, alias)
    return answers.answer(document, {"ETag": document["etag"]})


def _document(name: str, alias: hubless.Alias) -> dict[str, Any]:
    return {"alias": name, "collection": alias.collection, "etag": f'"{alias.revision}"'}
