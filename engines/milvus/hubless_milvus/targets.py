"""The engine Milvus: targets in a collection there, one entity a row, [t, −h] in its vector field."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import EngineError, InputError
from hubless.kernels.reductions import merged
from hubless.knn.base import SearchParameters
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import How
from hubless.vectors.arrays import F32, I64
from hubless_milvus.client import NOT_LOADED, Client, Refused
from hubless_milvus.expressions import LISTED, among, listed, selected
from hubless_milvus.kinds import METRIC, MOST_HITS, MilvusKind
from hubless_milvus.names import ROW, VECTOR

BATCH_BYTES = 2**24
"""Of the vectors that are sent or fetched in one call."""
MOST_ASKED = 16_384
"""Queries or rows of one call."""
_OPENING_SECONDS = 60.0
_WEAKEST = "Eventually"
"""A version never changes after it was loaded, counted and published."""
_STRONGER = 8
"""Times the effort, where too few targets are found."""

log = logging.getLogger("hubless.milvus")


@dataclass(frozen=True, eq=False, kw_only=True)
class MilvusIndex:
    """The vectors of a segment, in a Milvus collection.

    `name`: of the Milvus collection. `count`: targets that have a vector, in rows 0 to count − 1. `dim`: d. `defaults`:
    search parameters. `schema`: of the payload; None without payload. `fields`: by payload column, the name of its
    field in Milvus; only those that Milvus keeps.
    """

    client: Client
    name: str
    kind: MilvusKind
    count: int
    dim: int
    defaults: Mapping[str, Any]
    schema: pa.Schema | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.count

    @property
    def compares_all(self) -> bool:
        return self.kind.exact

    def ladder(self) -> list[dict[str, Any]]:
        """Search parameters to try."""
        return self.kind.ladder(self.count)

    def tuned(self, defaults: Mapping[str, Any]) -> "MilvusIndex":
        """Return the same with other default parameters."""
        return replace(self, defaults=defaults)

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> tuple[F32, I64]:
        if k > MOST_HITS:
            raise InputError("limit", f"at most {MOST_HITS:,} hits and candidates, as the engine is milvus", k)
        if how is None and not self.kind.exact:
            raise InputError("parameters.exact", f"none, as the engine is milvus with index {self.kind.name}", "true")
        asked = np.ascontiguousarray(augmented[:, : self.dim + 1])
        parameters: SearchParameters | None = self.defaults if how is None else how
        expressions, filtered = selected(only, self.schema, self.fields)
        scores, rows = _empty(len(asked), k)
        missed = np.ones(len(asked), np.bool_)
        # filters cut the walk through a graph short, and a few lists can hold too few
        while parameters is not None and missed.any():
            scores[missed], rows[missed] = self._search(asked[missed], k, parameters, expressions)
            if filtered and only is not None and not only.hold(rows[rows >= 0]).all():
                log.error("Milvus finds targets that do not meet the filter %s: they are named instead", only.filter)
                expressions, filtered = listed(only)
                continue
            missed = rows[:, -1] < 0
            parameters = self.kind.stronger(parameters, _STRONGER)
        if missed.any():
            scores[missed], rows[missed] = self._compared(asked[missed], k, only)
        return scores, rows

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return np.ascontiguousarray(self._stored(np.asarray(rows, np.int64))[:, : self.dim])

    def is_shared(self, only: Bitmap | None, *, exact: bool = False) -> bool:
        return False

    def walks(self, only: Bitmap | None) -> bool:
        return True

    def counted(self) -> int:
        """Return the number of vectors that Milvus holds now, in all of its nodes."""
        [found] = self._asked("query", self.name, filter="", output_fields=["count(*)"], consistency_level="Strong")
        return int(found["count(*)"])

    def load(self) -> None:
        """Let Milvus load the collection, and wait until it has."""
        self.client.call("load_collection", self.name, seconds=_OPENING_SECONDS)

    def _search(self, asked: F32, k: int, parameters: SearchParameters, expressions: Sequence[str]) -> tuple[F32, I64]:
        """The k best that Milvus finds with any of the expressions; −1 for empty places."""
        found = [self._found(asked, k, self.kind.searched(parameters, k), each) for each in expressions]
        return merged(found, k)

    def _found(self, asked: F32, k: int, parameters: Mapping[str, int], expression: str) -> tuple[F32, I64]:
        step = max(1, min(MOST_ASKED, BATCH_BYTES // asked.itemsize // asked.shape[1], BATCH_BYTES // (16 * k)))
        scores, rows = _empty(len(asked), k)
        for start in range(0, len(asked), step):
            hits = self._asked(
                "search",
                self.name,
                list(asked[start : start + step]),
                filter=expression,
                limit=k,
                anns_field=VECTOR,
                search_params={"metric_type": METRIC, "params": dict(parameters)},
                output_fields=[ROW],
                consistency_level=_WEAKEST,
            )
            for line, each in enumerate(hits, start):
                count = len(each.ids)
                scores[line, :count], rows[line, :count] = each.distances, each.ids
        return scores, rows

    def _compared(self, asked: F32, k: int, only: Bitmap | None) -> tuple[F32, I64]:
        """The k best of some only: their vectors are fetched, and compared here."""
        if only is None or only.count > LISTED:
            raise EngineError(f"collection {self.name} in Milvus gives fewer than {k:,} hits, however it is asked")
        rows = only.rows
        scores = asked @ self._stored(rows).T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, best, axis=1), rows[best]

    def _stored(self, rows: I64) -> F32:
        """[t, −h] of some rows, (r, d + 1)."""
        wanted, places = np.unique(rows, return_inverse=True)
        fetched = np.empty((len(wanted), self.dim + 1), np.float32)
        step = max(1, min(MOST_ASKED, BATCH_BYTES // (4 * self.dim + 4)))
        for start in range(0, len(wanted), step):
            self._fetch(wanted[start : start + step], fetched[start : start + step])
        return fetched[places]

    def _fetch(self, rows: I64, into: F32) -> None:
        first, last = int(rows[0]), int(rows[-1])
        # a range costs Milvus less than a list
        ranged = last - first + 1 == len(rows)
        expression = f"{ROW} >= {first} and {ROW} <= {last}" if ranged else among(rows.tolist())
        found = self._asked(
            "query", self.name, filter=expression, output_fields=[ROW, VECTOR], consistency_level=_WEAKEST
        )
        if len(found) != len(rows):
            raise EngineError(f"collection {self.name} in Milvus has {len(found):,} of {len(rows):,} rows")
        places = np.searchsorted(rows, [each[ROW] for each in found])
        into[places] = [each[VECTOR] for each in found]

    def _asked(self, method: str, *args: Any, **named: Any) -> Any:
        try:
            return self.client.call(method, *args, **named)
        except Refused as error:
            if error.number != NOT_LOADED:
                raise
            self.load()  # a server that was started anew
            return self.client.call(method, *args, **named)


def _empty(queries: int, k: int) -> tuple[F32, I64]:
    return np.full((queries, k), -np.inf, np.float32), np.full((queries, k), -1)
