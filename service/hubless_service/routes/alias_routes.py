"""Aliases: other names of collections. Move an alias to another collection, and clients need not change."""

import asyncio
import logging
import re

from fastapi import APIRouter, Request, Response

import hubless
from hubless.errors import AliasNotFound, CollectionNotFound
from hubless.store.catalog import check_name
from hubless_service import openapi
from hubless_service.access.authentication import access_of, check_admin
from hubless_service.access.keys import Access
from hubless_service.app_state import AppState, state_of
from hubless_service.http import bodies, responses
from hubless_service.http.answers import AliasAnswer, AliasesAnswer
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import AliasRequest, read
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute

log = logging.getLogger("hubless.administration")
router = APIRouter(route_class=DirectRoute, tags=["aliases"])
_TAG = re.compile(r'(?<!W/)"([1-9][0-9]{0,18})"')
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "What If-Match takes."}}
_IF_MATCH = openapi.header_parameter("If-Match", "The ETag that the alias must still have, or * for any.")
_IF_NONE_MATCH = openapi.header_parameter("If-None-Match", "* if the alias may not be there yet.")
_PRECONDITIONS = ("precondition_failed", "precondition_required")


@router.get(
    "/v1/aliases",
    summary="All aliases",
    responses=openapi.answers(AliasesAnswer, {"aliases": [examples.ALIAS_ANSWER]}, "storage"),
)
async def list_aliases(request: Request) -> Response:
    """The aliases of all collections that the key may see."""
    found = await _visible(state_of(request), access_of(request))
    answer: AliasesAnswer = {"aliases": [_document(name, alias) for name, alias in found.items()]}
    return responses.send(answer)


@router.get(
    "/v1/aliases/{alias}",
    summary="What an alias stands for",
    responses=openapi.answers(AliasAnswer, examples.ALIAS_ANSWER, "alias_not_found", "storage", headers=_ETAG),
)
async def get_alias(request: Request, alias: str) -> Response:
    """The answer has the ETag that you need to change the alias."""
    return _answer(alias, await _alias(state_of(request), alias, access_of(request)))


@router.put(
    "/v1/aliases/{alias}",
    summary="Set an alias, or move it to another collection",
    responses=openapi.answers(
        AliasAnswer,
        examples.ALIAS_ANSWER,
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
        **openapi.body(AliasRequest),
        "parameters": [_IF_MATCH, _IF_NONE_MATCH],
    },
)
async def put_alias(request: Request, alias: str) -> Response:
    """To move an existing alias send If-Match. So nobody undoes the change of somebody else by accident.

    All workers follow within moments. The answer to a query has the collection's own name.
    """
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    bodies.media_type(request, bodies.JSON)
    collection = read(AliasRequest, bodies.parse(await bodies.receive(request, state.settings))).collection
    catalog = state.engine.catalog
    # what is wrong whatever the headers expect comes first
    check_name(alias, "alias")
    if not (access.sees(collection) and collection in await asyncio.to_thread(catalog.collections)):
        raise CollectionNotFound(f'There is no collection "{collection}".')
    before = (await asyncio.to_thread(catalog.aliases)).get(alias)
    if before and not access.sees(before.collection):
        raise HttpProblem("forbidden", "The key may not see the collection that this stands for.")
    expected = _expected(request, before)
    changed = await asyncio.to_thread(catalog.set_alias, alias, collection, expected=expected)
    log.info('alias "%s" stands for "%s" now, id=%s', alias, collection, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return _answer(alias, changed)


@router.delete(
    "/v1/aliases/{alias}",
    summary="Remove an alias",
    responses=openapi.answers(
        AliasAnswer, examples.ALIAS_ANSWER, "forbidden", "alias_not_found", *_PRECONDITIONS, "storage"
    ),
    openapi_extra={"parameters": [_IF_MATCH]},
)
async def delete_alias(request: Request, alias: str) -> Response:
    """Needs If-Match. The answer says what the alias stood for."""
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    before = await _alias(state, alias, access)
    removed = await asyncio.to_thread(state.engine.catalog.remove_alias, alias, expected=_expected(request, before))
    log.info('alias "%s" was removed, id=%s', alias, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return responses.send(_document(alias, removed))


async def _visible(state: AppState, access: Access) -> dict[str, hubless.Alias]:
    # read from the disk, as another worker may just have changed them
    found = await asyncio.to_thread(state.engine.catalog.aliases)
    return {name: alias for name, alias in found.items() if access.sees(alias.collection)}


async def _alias(state: AppState, name: str, access: Access) -> hubless.Alias:
    found = await _visible(state, access)
    if name not in found:
        raise AliasNotFound(f'There is no alias "{name}".')
    return found[name]


def _expected(request: Request, before: hubless.Alias | None) -> int:
    """The revision that the headers expect the alias to have; 0 if it must not exist.

    Raises
    ------
    HttpProblem
        `precondition_failed` if it has another, `precondition_required` if they say nothing of one that is there.
    """
    revision = before.revision if before else 0
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if match is not None and not (before and (match.strip() == "*" or str(revision) in _TAG.findall(match))):
        raise HttpProblem("precondition_failed", "The alias is not the one of If-Match: get it anew.")
    if none_match is not None and before:
        raise HttpProblem("precondition_failed", "The alias is there already.")
    if match is None and before:
        raise HttpProblem("precondition_required", "The alias is there: say in If-Match the ETag that it has, or *.")
    return revision


def _answer(name: str, alias: hubless.Alias) -> Response:
    document = _document(name, alias)
    return responses.send(document, {"ETag": document["etag"]})


def _document(name: str, alias: hubless.Alias) -> AliasAnswer:
    return {"alias": name, "collection": alias.collection, "etag": f'"{alias.revision}"'}
