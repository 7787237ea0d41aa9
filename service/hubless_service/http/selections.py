"""Which stored targets a request wants, and what they are to be sent with; every field checked by hand."""

from dataclasses import dataclass, replace
from typing import Any

from fastapi import Request

import hubless
from hubless.errors import InputError
from hubless.filters import Filter, Limits
from hubless_service.http.bodies import parse, refuse_unknown, refuse_url_fields, url_fields
from hubless_service.http.cursors import read_cursor
from hubless_service.http.extras import Extras, read_extras
from hubless_service.http.problems import describe
from hubless_service.http.schemas import CountRequest, PointsRequest, ScrollRequest, fields_of
from hubless_service.settings import Settings

_COUNT_FIELDS = fields_of(CountRequest)
_POINTS_FIELDS = fields_of(PointsRequest)
_SCROLL_FIELDS = fields_of(ScrollRequest)


@dataclass(frozen=True, slots=True)
class Scroll:
    """A page of a collection: from a row on, so many, of those that meet a filter."""

    start: int
    limit: int
    filter: Filter | None
    extras: Extras


def one(request: Request, collection: hubless.Collection) -> Extras:
    """Read the URL of a single target: it has its payload, and what `with` adds."""
    fields = url_fields(request)
    refuse_unknown(fields, frozenset({"with"}))
    return replace(read_extras("", fields, collection), payload=_has_payload(collection))


def several(
    request: Request, body: bytes, collection: hubless.Collection, settings: Settings
) -> tuple[list[Any], Extras]:
    """Read a body that names ids, as many as the settings allow."""
    fields = _fields(request, body, _POINTS_FIELDS)
    ids = fields.get("ids")
    if not isinstance(ids, list):
        raise InputError("ids", "a list of ids", describe(ids))
    if not 1 <= len(ids) <= settings.max_limit:
        raise InputError("ids", f"1 to {settings.max_limit} ids", str(len(ids)))
    return ids, _extras(fields, collection)


def page(request: Request, body: bytes, collection: hubless.Collection, settings: Settings) -> Scroll:
    """Read a body that says where a page begins and how long it is."""
    fields = _fields(request, body, _SCROLL_FIELDS)
    wanted = read_filter("", fields, collection, settings)
    limit = read_whole("", "limit", fields, settings.default_limit, settings.max_limit)
    start = read_cursor(fields.get("cursor"), collection, wanted)
    return Scroll(start, limit, wanted, _extras(fields, collection))


def counted(request: Request, body: bytes, collection: hubless.Collection, settings: Settings) -> Filter | None:
    """Read a body that says what to count; everything without a filter."""
    return read_filter("", _fields(request, body, _COUNT_FIELDS), collection, settings)


def read_filter(
    where: str, fields: dict[str, Any], collection: hubless.Collection, settings: Settings
) -> Filter | None:
    """Read the field `filter`; null is none."""
    if (document := fields.get("filter")) is None:
        return None
    limits = Limits(settings.max_filter_depth, settings.max_filter_conditions, settings.max_filter_values)
    return collection.filter(document, limits, f"{where}filter")


def read_whole(where: str, name: str, fields: dict[str, Any], default: int, most: int) -> int:
    """Read a whole number from 1 to `most`; null is the default."""
    value = fields.get(name)
    if value is None:
        return default
    if type(value) is not int or not 1 <= value <= most:
        raise InputError(f"{where}{name}", f"a whole number from 1 to {most}", describe(value))
    return value


def _fields(request: Request, body: bytes, known: frozenset[str]) -> dict[str, Any]:
    refuse_url_fields(request)
    fields = parse(body)
    refuse_unknown(fields, known)
    return fields


def _extras(fields: dict[str, Any], collection: hubless.Collection) -> Extras:
    return read_extras("", fields, collection, Extras(payload=_has_payload(collection)))


def _has_payload(collection: hubless.Collection) -> bool:
    return bool(collection.manifest.payload_columns)
