"""The ids and the payload of targets in segments."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.search.segments.segment import payload_of
from hubless.search.segments.segment_rows import RowNumbers, SegmentRows
from hubless.vectors.arrays import I64
from hubless.vectors.ids import parsed_id, unknown_id

_ANYTHING = np.empty(0, object)


class _Contents:
    """Something of n targets, row by row in their order."""

    def __init__(self, rows: SegmentRows) -> None:
        self._all = rows

    def __len__(self) -> int:
        return len(self._all)


class TargetIds(_Contents):
    """The ids of n targets."""

    @property
    def type(self) -> str:
        """`int64` or `string`."""
        return "int64" if pa.types.is_integer(self._all.first.ids.array.type) else "string"

    @property
    def array(self) -> pa.Array:
        """All of them, (n,) int64 or large_string."""
        parts = [view.of_left(view.segment.ids.array) for view in self._all.views]
        some = [part for part in parts if len(part)] or parts[:1]
        return some[0] if len(some) == 1 else pa.concat_arrays(some)

    @property
    def largest(self) -> Any:
        """The largest that there is or was; None without any."""
        known: list[Any] = [view.segment.ids.largest for view in self._all.views]
        return max((each for each in known if each is not None), default=None)

    def ids(self, rows: RowNumbers) -> list[str | int]:
        """The ids of some rows."""
        return [*self._all.gathered(rows, lambda segment, inside: segment.ids.ids(inside), _ANYTHING)]

    def rows(self, wanted: Sequence[Any]) -> I64:
        """The row of each of some ids; −1 for one that no target has."""
        found = np.full(len(wanted), -1)
        missing = np.arange(len(wanted))
        for view, start in reversed(list(zip(self._all.views, self._all.starts, strict=True))):
            if not len(view.segment):
                continue
            rows = view.segment.ids.rows([wanted[each] for each in missing.tolist()])
            there = rows >= 0
            if there.any():
                there[there] = view.has(rows[there])
                found[missing[there]] = self._all.numbered(rows[there] + start)
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
        return payload_of(self._all.first).schema

    def take(self, rows: Sequence[int] | RowNumbers, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some rows, in this order, all columns or some."""
        found = self._all.gathered(rows, lambda segment, inside: payload_of(segment).take(inside, columns), _ANYTHING)
        return [*found]

    def table(self) -> pa.Table:
        """All rows, mapped where nothing is gone."""
        parts = [view.of_left(payload_of(view.segment).table()) for view in self._all.views]
        return pa.concat_tables(part for part in parts if len(part)) if any(map(len, parts)) else parts[0]
