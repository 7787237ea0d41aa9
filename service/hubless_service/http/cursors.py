"""Cursors: one opaque word that says at which place of a version a scroll goes on, and under which filter.

The targets of a version keep their places, whatever is written. So a cursor is good for as long as the version is
served, in any worker.
"""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson

import hubless
from hubless.errors import InputError
from hubless.filters import Filter
from hubless_service.http.problems import Problem, clip, describe

_DIGEST_BYTES = 9


def write_cursor(collection: hubless.Collection, row: int, filter: Filter | None) -> str:
    """The cursor that goes on at a row."""
    return urlsafe_b64encode(orjson.dumps([collection.version, collection.place(row), _digest(filter)])).decode()


def read_cursor(value: str | None, collection: hubless.Collection, filter: Filter | None) -> int:
    """The row at which a scroll goes on; without a cursor the first.

    Raises
    ------
    Problem
        `cursor_expired`, if it was written for another version.
    InputError
        if it is no cursor, or was written for another filter.
    """
    if value is None:
        return 0
    try:
        version, place, digest = orjson.loads(urlsafe_b64decode(value))
        if not (isinstance(version, str) and type(place) is int and isinstance(digest, str)):
            raise ValueError
    except (ValueError, TypeError) as error:
        raise InputError("cursor", "the cursor of an answer, unchanged", describe(value)) from error
    if version != collection.version:
        detail = f"The cursor is of version {clip(version)}, and {collection.version} is served: scroll from the start."
        raise Problem("cursor_expired", detail)
    if digest != _digest(filter):
        raise InputError("cursor", "the filter that the scroll began with", "a cursor of another one")
    if not 0 <= place <= collection.last_place:
        raise InputError("cursor", "the cursor of an answer, unchanged", describe(value))
    return collection.row_from(place)


def _digest(filter: Filter | None) -> str:
    key = "" if filter is None else filter.key
    return urlsafe_b64encode(hashlib.sha256(key.encode()).digest()[:_DIGEST_BYTES]).decode()
