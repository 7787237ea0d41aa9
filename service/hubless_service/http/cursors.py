"""Cursors: one opaque word that says at which place of a version a scroll goes on, and under which filter."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

import orjson

from hubless import Collection
from hubless.errors import InputError
from hubless.filters import Filter
from hubless_service.http.problems import HttpProblem, clip, describe

_DIGEST_BYTES = 9


class Cursor(NamedTuple):
    """Where a scroll goes on."""

    version: str | None
    reached: int
    seq: int
    rank: int

    def row(self, collection: Collection) -> int:
        """Return the row at which the scroll goes on. Raises `cursor_expired` where the order is another one."""
        order = collection.manifest.built
        if self.version not in (None, order):
            raise _expired(f"of the order of version {clip(self.version or '')}, and that of {order} is served")
        if self.reached > collection.seq:
            raise _expired(f"of write {self.reached}, and {collection.seq} is the last that is served")
        targets = collection.parts.targets
        built = [view.segment for view in targets.stored if view.segment.stamps is None]
        if self.version and built and self.seq == built[0].seq and self.rank >= (count := sum(map(len, built))):
            raise InputError("cursor", _UNCHANGED, f"row {self.rank} of {count}")
        return targets.row_from(self.seq, self.rank)


def _expired(found: str) -> HttpProblem:
    return HttpProblem("cursor_expired", f"The cursor is {found}: scroll from the start.")


_UNCHANGED = "the cursor of an answer, unchanged"


def write_cursor(collection: Collection, row: int, filter: Filter | None) -> str:
    """The cursor that goes on at a row."""
    stamp = collection.parts.targets.stamp(row)
    content = [collection.manifest.built, collection.seq, *stamp, _digest(filter)]
    return urlsafe_b64encode(orjson.dumps(content)).decode()


def read_cursor(value: str | None, filter: Filter | None) -> Cursor:
    """Return where a scroll goes on; without a cursor it begins. Raises `InputError` for a cursor of another filter."""
    if value is None:
        return Cursor(None, 0, 0, 0)
    try:
        version, *numbers, digest = orjson.loads(urlsafe_b64decode(value))
        cursor = Cursor(version, *numbers)
        natural = all(type(number) is int and 0 <= number < 2**63 - 1 for number in numbers)
        if not (isinstance(version, str) and isinstance(digest, str) and natural):
            raise ValueError
    except (ValueError, TypeError) as error:
        raise InputError("cursor", _UNCHANGED, describe(value)) from error
    if digest != _digest(filter):
        raise InputError("cursor", "the filter that the scroll began with", "a cursor of another one")
    return cursor


def _digest(filter: Filter | None) -> str:
    key = "" if filter is None else filter.key
    return urlsafe_b64encode(hashlib.sha256(key.encode()).digest()[:_DIGEST_BYTES]).decode()
