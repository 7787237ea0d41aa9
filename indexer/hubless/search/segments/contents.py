"""The ids and the payload of targets in segments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.search.numbers import Numbers
from hubless.search.segments.segment import Segment, SegmentIds, SegmentView, payload_of
from hubless.vectors.arrays import I64
from hubless.vectors.ids import parsed_id, unknown_id

RowNumbers: TypeAlias = NDArray[np.integer]
_ANYTHING = np.empty(0, object)


@dataclass(frozen=True, eq=False)
class _Contents:
    """Something of n targets, row by row in their order."""

    _views: Sequence[SegmentView]
    _numbers: Numbers

    def __len__(self) -> int:
        return self._numbers.count

    def _each(self, rows: Sequence[int] | RowNumbers, of: Callable[[Segment, I64], list[Any]]) -> list[Any]:
        """Return what segments have `of` each of some rows."""
        views = self._views
        return [*self._numbers.gathered(rows, lambda number, inside: of(views[number].segment, inside), _ANYTHING)]


class TargetIds(_Contents):
    """The ids of n targets."""

    @property
    def type(self) -> str:
        """`int64` or `string`."""
        return "int64" if pa.types.is_integer(self._known[0].array.type) else "string"

    @property
    def array(self) -> pa.Array:
        """All of them, (n,) int64 or large_string."""
        parts = []
        for view, ids in zip(self._views, self._known, strict=True):
            parts.append(ids.array.take(pa.array(view.left)) if len(view.gone) else ids.array)
        some = [part for part in parts if len(part)] or parts[:1]
        return some[0] if len(some) == 1 else pa.concat_arrays(some)

    @property
    def largest(self) -> Any:
        """The largest that there is or was; None without any."""
        known: list[Any] = [ids.largest for ids in self._known if ids.largest is not None]
        return max(known, default=None)

    @property
    def _known(self) -> list[SegmentIds]:
        return [view.segment.ids for view in self._views]

    def ids(self, rows: RowNumbers) -> list[str | int]:
        """The ids of some rows."""
        return self._each(rows, lambda segment, inside: segment.ids.ids(inside))

    def rows(self, wanted: Sequence[Any]) -> I64:
        """The row of each of some ids; −1 for one that no target has."""
        found = np.full(len(wanted), -1)
        numbers = self._numbers
        missing = np.arange(len(wanted))
        for view, start in reversed(list(zip(self._views, numbers.starts, strict=True))):
            if not len(view.segment):
                continue
            rows = view.segment.ids.rows([wanted[each] for each in missing.tolist()])
            there = rows >= 0
            there[there] = view.has(rows[there])
            found[missing[there]] = numbers.rows(rows[there] + start)
            missing = missing[~there]
            if not len(missing):
                break
        return found

    def row(self, wanted: str | int) -> int:
        """The row of an id. Raises `PointNotFound`."""
        row = int(self.rows([wanted])[0])
        if row < 0:
            raise unknown_id(wanted, self.type)
        return row

    def parse(self, text: str) -> str | int:
        """An id from its text. Raises `PointNotFound` if it cannot be one."""
        return parsed_id(text, self.type)


class TargetPayload(_Contents):
    """The payload of n targets, row by row in their order."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return payload_of(self._views[0].segment).schema

    def take(self, rows: Sequence[int] | RowNumbers, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some rows, in this order, all columns or some."""
        return self._each(rows, lambda segment, inside: payload_of(segment).take(inside, columns))

    def table(self) -> pa.Table:
        """All rows, mapped where nothing is gone."""
        parts = []
        for view in self._views:
            table = payload_of(view.segment).table()
            parts.append(table.take(pa.array(view.left)) if len(view.gone) else table)
        return pa.concat_tables(part for part in parts if len(part)) if any(map(len, parts)) else parts[0]
