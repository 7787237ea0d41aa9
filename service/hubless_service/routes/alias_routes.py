"""Aliases: other names of collections. Move an alias to another collection, and clients need not change."""

import asyncio
import logging
import re
from typing import Annotated

from fastapi import Header, Response

import hubless
from hubless.errors import AliasNotFound, CollectionNotFound
from hubless.store.catalog import check_name
from hubless_service import openapi
from hubless_service.access.keys import Access
from hubless_service.http import responses
from hubless_service.http.answers import AliasAnswer, AliasesAnswer
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import AliasRequest
from hubless_service.routes.route import Admin, Call
from hubless_service.routes.route import router as make_router

log = logging.getLogger("hubless.administration")
router = make_router("aliases")
_PATH = "/v1/aliases/{alias}"
_TAG = re.compile(r'(?<!W/)"([1-9][0-9]{0,18})"')
_PRECONDITIONS = ("precondition_failed", "precondition_required")
IfMatch = Annotated[str | None, Header(description="The ETag that the alias must still have, or * for any.")]
IfNoneMatch = Annotated[str | None, Header(description="* if the alias may not be there yet.")]


@router.get("/v1/aliases", **openapi.about("All aliases", AliasesAnswer, "storage"))
async def list_aliases(call: Call) -> Response:
    """The aliases of all collections that the key may see."""
    found = await _visible(call, call.access)
    return responses.send({"aliases": [_document(name, alias) for name, alias in found.items()]})


@router.get(
    _PATH, **openapi.about("What an alias stands for", AliasAnswer, "alias_not_found", "storage", also=openapi.ETAG)
)
async def get_alias(call: Call, alias: str) -> Response:
    """The answer has the ETag that you need to change the alias."""
    return _answer(alias, await _alias(call, alias, call.access))


@router.put(
    _PATH,
    **openapi.about(
        "Set an alias, or move it to another collection",
        AliasAnswer,
        *openapi.BODY,
        *openapi.FIELDS,
        "forbidden",
        "collection_not_found",
        *_PRECONDITIONS,
        "storage",
        also=openapi.ETAG,
    ),
)
async def put_alias(
    call: Call,
    alias: str,
    access: Admin,
    body: AliasRequest,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """To move an existing alias send If-Match. So nobody undoes the change of somebody else by accident.

    All workers follow within moments. The answer to a query has the collection's own name.
    """
    engine, collection = call.service.engine, body.collection
    # what is wrong whatever the headers expect comes first
    check_name(alias, "alias")
    if not (access.sees(collection) and collection in await asyncio.to_thread(engine.catalog.collections)):
        raise CollectionNotFound(f'There is no collection "{collection}".')
    before = (await asyncio.to_thread(engine.catalog.aliases)).get(alias)
    if before and not access.sees(before.collection):
        raise HttpProblem("forbidden", "The key may not see the collection that this stands for.")
    expected = _expected(before, if_match, if_none_match)
    changed = await asyncio.to_thread(engine.catalog.set_alias, alias, collection, expected=expected)
    log.info('alias "%s" stands for "%s" now, id=%s', alias, collection, call.trace.request_id)
    await asyncio.to_thread(engine.look_now)
    return _answer(alias, changed)


@router.delete(
    _PATH, **openapi.about("Remove an alias", AliasAnswer, "forbidden", "alias_not_found", *_PRECONDITIONS, "storage")
)
async def delete_alias(call: Call, alias: str, access: Admin, if_match: IfMatch = None) -> Response:
    """Needs If-Match. The answer says what the alias stood for."""
    engine = call.service.engine
    expected = _expected(await _alias(call, alias, access), if_match)
    removed = await asyncio.to_thread(engine.catalog.remove_alias, alias, expected=expected)
    log.info('alias "%s" was removed, id=%s', alias, call.trace.request_id)
    await asyncio.to_thread(engine.look_now)
    return responses.send(_document(alias, removed))


async def _visible(call: Call, access: Access) -> dict[str, hubless.Alias]:
    # read from the disk, as another worker may just have changed them
    found = await asyncio.to_thread(call.service.engine.catalog.aliases)
    return {name: alias for name, alias in found.items() if access.sees(alias.collection)}


async def _alias(call: Call, name: str, access: Access) -> hubless.Alias:
    found = await _visible(call, access)
    if name not in found:
        raise AliasNotFound(f'There is no alias "{name}".')
    return found[name]


def _expected(before: hubless.Alias | None, match: str | None, none_match: str | None = None) -> int:
    """Return the revision that the headers expect the alias to have; 0 if it must not exist."""
    revision = before.revision if before else 0
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
