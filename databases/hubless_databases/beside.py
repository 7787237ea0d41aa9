"""Corrections in a collection of their own, beside that of the owner, which stays as it is.

Every run writes to a new copy with a name of its own, so two runs never write to one place. A pointer, such as an
alias, names the current copy. The fit stands in one more collection, named like the copy.
"""

import json
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32
from hubless_databases.address_checks import check_there
from hubless_databases.base import Asking, Database, Page, RowId
from hubless_databases.rows_in_pages import belong, in_pages, metric_of

FIT = "fit"
_DIGITS = 16
"""Digits of the microseconds since 1970, which number a copy."""


class DatabaseWithCopies(Database):
    """A database in which a correction stands in a copy of the collection."""

    pointer = "alias"
    separator = "-"
    most = 255
    """Characters of the name of a collection."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._copy: str | None = None
        self._metric = "cosine"
        self._vector = ""
        self._fields: dict[str, Any] = {}

    @abstractmethod
    def _collections(self) -> list[str]:
        """Return the names of all collections."""

    @abstractmethod
    def _pointers(self) -> dict[str, str]:
        """Return the names of all pointers, and what each names."""

    @abstractmethod
    def _point(self, pointer: str, copy: str) -> None:
        """Let a pointer name another copy, by one step of the database. Make it if it is not there."""

    @abstractmethod
    def _drop_pointer(self, pointer: str) -> None:
        """Remove a pointer."""

    def _scan(self, *, payload: bool) -> Iterator[Page]:
        """Yield the rows of the owner that have a vector."""
        for ids in in_pages(list(self._ids(self.name))):
            page = self._read(self.name, ids, payload=payload)
            if page.ids:
                yield page

    @abstractmethod
    def _read(self, name: str, ids: Sequence[RowId], *, payload: bool) -> Page:
        """Return the rows of the owner, or of a copy, that have these ids and a vector, in any order."""

    @abstractmethod
    def _ids(self, name: str) -> Iterator[RowId]:
        """Yield the ids of the owner's collection, or of a copy."""

    @abstractmethod
    def _create(self, name: str, into: str, width: int) -> None:
        """Make an empty copy."""

    @abstractmethod
    def _put(self, name: str, into: str, page: Page) -> None:
        """Write whole rows to a copy, in place of those of the same ids."""

    @abstractmethod
    def _remove(self, name: str, ids: Sequence[RowId]) -> None:
        """Remove rows of a copy."""

    @abstractmethod
    def _keep(self, name: str, content: bytes) -> None:
        """Make a collection that holds content."""

    @abstractmethod
    def _kept(self, name: str) -> bytes | None:
        """Return the content of such a collection."""

    @abstractmethod
    def _drop(self, name: str) -> None:
        """Remove a collection."""

    def _id(self, given: RowId) -> RowId:
        """Return an id as this database has it."""
        return given

    def _shown(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the payload of a row as the owner knows it."""
        return payload

    def _vector_of(self, name: str) -> str:
        """Return the field of the vectors of the owner's collection, or of a copy."""
        return self._vector if name == self.name else str(self._of(name))

    def _check_there(self) -> None:
        """Raise `InputError` unless the collection is one of the owner's, or an alias of one."""
        names = {name: name for name in self._collections()} | self._pointers()
        check_there("collection", self.name, [name for name, named in names.items() if not self._is_a_copy(named)])

    def _is_a_copy(self, name: str) -> bool:
        return re.search(rf"{self.separator}\d{{{_DIGITS}}}({self.separator}{FIT})?$", name) is not None

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        if into in self._fields:
            raise InputError("into", "a name that no field has yet", repr(into))
        pointer = self._pointer(into)
        longest = self._join(pointer, "0" * _DIGITS, FIT)
        if len(longest) > self.most:
            room = self.most - len(longest) + len(into)
            raise InputError("into", f"a name of up to {max(room, 0)} letters, as {self.title} has limits", repr(into))
        copy = self._pointers().get(pointer)
        if pointer in self._collections() or (copy is not None and copy not in self._ours(into)):
            raise InputError("into", f"another name, as {pointer} is yours", repr(into))
        if metric is not None:
            self._metric = metric
            self._remove_others(into)
            self._try_to_write(self._fit_of(self._new(into)))
            return
        self._copy = self._current(into)
        if (fit := self.fit(into)) is not None:
            self._metric = metric_of(fit)

    def _try_to_write(self, name: str) -> None:
        try:
            self._keep(name, b"")
            self._drop(name)
        except Exception as error:
            raise InputError("address", f"a {self.title} in which you may make collections", one_line(error)) from error

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        for page in self._scan(payload=payload or lacking is not None):
            with self._alone():
                found = page if lacking is None else self._behind(page)
            if found.ids:
                yield Page(found.ids, found.vectors, [self._shown(one) for one in found.payload if payload])

    def _behind(self, page: Page) -> Page:
        """Return the rows of a page that the copy lacks, or has with another vector or payload."""
        copy = self._read(str(self._copy), page.ids, payload=True)
        places = {each: row for row, each in enumerate(copy.ids)}
        both = [row for row, each in enumerate(page.ids) if each in places]
        theirs = [places[page.ids[row]] for row in both]
        as_they_are = belong(page.vectors[both], copy.vectors[theirs], self._metric)
        good = {
            row
            for row, their, same in zip(both, theirs, as_they_are, strict=True)
            if same and _text(page.payload[row]) == _text(copy.payload[their])
        }
        return page.only([row for row in range(len(page.ids)) if row not in good])

    def begin(self, into: str, width: int) -> None:
        self._remove_others(into)
        self._copy = self._new(into)
        self._create(self._copy, into, width)

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        page = self._read(self.name, [self._id(each) for each in ids], payload=True)
        if not page.ids:
            return 0
        places = {self._id(each): row for row, each in enumerate(ids)}
        rows = augmented[[places[each] for each in page.ids]]
        whole = Page(page.ids, rows, page.payload)
        good = whole.only(np.flatnonzero(belong(page.vectors, rows, self._metric)).tolist())
        if good.ids:
            with self._alone():
                self._put(str(self._copy), into, good)
        return len(good.ids)

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        copy = str(self._copy)
        with self._alone():
            self._keep(self._fit_of(copy), fit)
            if copy not in self._collections():
                raise LookupError(copy)  # a pointer may take the name of what is not there
            self._point(self._pointer(into), copy)
        self._remove_others(into)

    def fit(self, into: str) -> bytes | None:
        copy = self._copy or self._current(into)
        return None if copy is None else self._kept(self._fit_of(copy))

    def finish(self, into: str) -> None:
        copy = str(self._copy)
        with self._alone():
            written = set(self._ids(copy))
            # the owner's ids last: what came meanwhile is there
            for some in in_pages(sorted(written.difference(self._ids(self.name)), key=str)):
                self._remove(copy, some)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Name a later run as the reason of an error, if that has removed the copy of this one."""
        try:
            yield
        except Exception as error:
            if self._copy in self._collections():
                raise
            expected = "no other run meanwhile: a later one has removed what this one wrote, and goes on"
            raise InputError("into", expected, "another run") from error

    def undo(self, into: str | None) -> list[str]:
        gone = []
        ours = self._ours(into)
        for pointer, copy in self._pointers().items():
            if copy in ours:
                self._drop_pointer(pointer)
                gone.append(f"{self.pointer} {pointer}")
        for name in ours:
            self._drop(name)
            gone.append(f"collection {name}")
        return gone

    def _current(self, into: str) -> str | None:
        return self._pointers().get(self._pointer(into))

    def _remove_others(self, into: str) -> None:
        for name in self._ours(into):
            current = self._current(into)  # asked each time, as another run may end meanwhile
            if current is None or name not in (current, self._fit_of(current)):
                self._drop(name)

    def _ours(self, into: str | None) -> list[str]:
        """Return the copies of a correction, or of all, and the collections of their fits."""
        names = self._collections()
        longer = [name for name in names if name.startswith(self._join(self.name, "")) and self._of(name) is None]
        return [
            name
            for name in sorted(names)
            if (of := self._of(name)) and into in (None, of) and not any(self._of(name, each) for each in longer)
        ]

    def _of(self, copy: str, name: str | None = None) -> str | None:
        """Return which correction a copy or the collection of a fit has; None if it is neither."""
        end = re.escape(self.separator)
        pattern = rf"{re.escape(name or self.name)}{end}([a-z_]\w*?){end}\d{{{_DIGITS}}}({end}{FIT})?"
        found = re.fullmatch(pattern, copy, re.ASCII | re.IGNORECASE)
        return found and found[1]

    def _pointer(self, into: str) -> str:
        return self._join(self.name, into)

    def _new(self, into: str) -> str:
        return self._join(self._pointer(into), str(time.time_ns() // 1000))

    def _fit_of(self, copy: str) -> str:
        return self._join(copy, FIT)

    def _join(self, *parts: str) -> str:
        return self.separator.join(parts)


def _text(payload: object) -> str:
    return json.dumps(payload, sort_keys=True, default=str)
