"""Corrects lists of scores of any search by what its log shows: one offset an item, without a vector."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, beside, one_line, storage_errors
from hubless.kernels.forks import cached_property
from hubless.measures.confidence.cut import Cut
from hubless.measures.confidence.guarantee import SURE
from hubless.measures.confidence.score_lists import FEWEST_LISTS
from hubless.measures.plain_ids import hit_like, listed_ids, plain_ids
from hubless.scores.logged_lists import ScoreLists
from hubless.scores.reading import Lists, read_lists
from hubless.vectors.arrays import F64, I64, check_between
from hubless.vectors.fetched import fetched_file
from hubless.vectors.ids import id_array
from hubless.vectors.object_rows import brief
from hubless.vectors.plain_arrow import plain_file, write_arrow

FORMAT = 2
KEY, _COLUMNS = b"hubless.scores", ("id", "offset")
ARROW_ENDING = ".arrow"
_EXPECTED = "a file that hubless log wrote"
_MOST_DETAILS = 100
_log = logging.getLogger("hubless.scores")


class Reranked(NamedTuple):
    """A list, best first: ids, corrected scores, and the offsets that were taken off.

    So many ids of the whole list are `unknown`: no list of the log has them. If all are, nothing was corrected.
    """

    ids: list[Any]
    scores: list[float]
    offsets: list[float]
    unknown: int = 0


@dataclass(frozen=True, eq=False)
class ScoreCorrection:
    """Offsets h of the items of a search: a hub's is positive. A score is corrected to s − h, a distance to d + h.

    `fit` makes it of past lists, by Sinkhorn between the queries and the items that they found: below a list lies a
    floor, s_K − ½·median(s_1 − s_K). The temperature, the shrinkage, and what counts once are as in `auto`. An item
    that no list has gets the smallest offset. `details` say how it came about; `distance` that lower is better. `cut`
    tells from corrected scores how likely the first hit is right; None after fewer than 20 lists.
    """

    ids: pa.Array
    values: F64
    distance: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    cut: Cut | None = None

    @classmethod
    def fit(cls, lists: Lists, *, distance: bool = False) -> Self:
        """Fit it on past lists of first hits, 50 each if you can; 1,000 queries are enough, 100 bring half.

        `lists`: pairs of ids and scores, one a query, or mappings or a table of Arrow, pandas or polars with the
        columns `ids` and `scores`; or a table with `query`, `id` and `score`. Scores may have any unit, and any zero
        for each query. Raises `InputError` that names the list and the hit.
        """
        return cls.of(read_lists(lists, distance=distance), distance=distance)

    @classmethod
    def of(cls, lists: ScoreLists, *, distance: bool = False, clients: I64 | None = None) -> Self:
        """Fit it on lists (b,) that were read; `clients` (b,), if given, say who sent each: see `supported`."""
        from hubless.scores.fitted_lists import fit_lists  # who only applies it needs no method

        firsts, copies = lists.distinct(clients)
        some = lists if len(firsts) == lists.count else lists.taken(firsts)
        offsets, details = fit_lists(some.heights(), copies, None if clients is None else clients[firsts])
        several = int((np.diff(lists.starts) > 1).sum())
        cut = Cut.fit(some.corrected(offsets)) if several >= FEWEST_LISTS else None
        return cls(lists.ids, offsets, distance, details, cut)

    @cached_property
    def offsets(self) -> dict[Any, float]:
        """The offset of each item that was found, by its id, in units of the score."""
        return dict(zip(self.ids.to_pylist(), self.values.tolist(), strict=True))

    @cached_property
    def smallest(self) -> float:
        """The offset of an item that no list has."""
        return float(self.values.min())

    def rerank(
        self, ids: Sequence[Any], scores: Sequence[float], limit: int | None = None, strength: float = 1.0
    ) -> Reranked:
        """Return a list in its corrected order; ask the search for 50 hits, and take the `limit` best of them.

        Equal scores stay in their order. Raises `InputError` for ids and scores of two lengths, for ids of another type
        than those of the log, and for no finite number. A list of which no id is known is warned of once.
        """
        check_between("strength", strength, 0, 10)
        if len(ids) != len(scores):
            raise InputError("scores", f"as many as ids, {len(ids)}", len(scores))
        given = listed_ids(ids) or []
        known = [*map(self.offsets.get, self._plain(given, "ids"))]
        other = self.smallest
        offsets = [other if h is None else h for h in known]
        unknown = known.count(None)
        if 0 < unknown == len(known):
            self._warned  # noqa: B018  said by the first such list
        full = -strength if self.distance else strength
        try:
            corrected = [score - full * h for score, h in zip(map(float, scores), offsets, strict=True)]
        except (TypeError, ValueError) as error:
            raise InputError("scores", "a number for each id", one_line(error)) from error
        if not isfinite(sum(corrected)) and not all(map(isfinite, corrected)):  # a sum may be too large
            place = int(np.argmin(np.isfinite(corrected)))
            raise InputError(f"scores[{place}]", "a finite number", brief(scores[place]))
        order = sorted(range(len(corrected)), key=corrected.__getitem__, reverse=not self.distance)[:limit]
        taken = offsets if strength == 1 else [strength * h for h in offsets]
        best = [[values[place] for place in order] for values in (given, corrected, taken)]
        return Reranked(best[0], best[1], best[2], unknown)

    def _plain(self, ids: Any, name: str) -> list[Any]:
        """Return ids as the log has them. Raises `InputError` naming the first of another type."""
        return plain_ids(ids, *hit_like(self.ids[0].as_py()), name)

    @cached_property
    def _warned(self) -> None:
        """Said once, as it is true of all lists of a search or of few."""
        said = "scores: no hit of a list is one of the %s items of the log, such as %r, so nothing is corrected"
        _log.warning(said, f"{len(self.ids):,}", self.ids[0].as_py())

    def confidence(self, ids: Sequence[Any], scores: Sequence[float]) -> float:
        """Return how likely the first hit of the corrected list is right, 0 to 1; 0 without hits.

        Without `calibrate` it orders answers, and is no probability. Give 11 hits or more.
        """
        return self._cut.confidence(self._best(ids, scores))

    def accept(self, ids: Sequence[Any], scores: Sequence[float], accuracy: float = 0.9) -> bool:
        """Return whether to answer, so that this share of the answers is right. It needs `calibrate`."""
        return self._cut.accept(self._best(ids, scores), accuracy)

    def calibrate(self, lists: Lists, relevant: Sequence[Any], *, sure: float = SURE) -> Self:
        """Return the correction with confidence as a probability, and a threshold that `accept` keeps.

        `relevant`: the id of the right item of each list, or a list of ids, an empty one where none is right; None
        where nobody knows. The lists should not be those that it was fitted on. Raises `InputError` for fewer than 20
        lists, and as `fit`.
        """
        given = list(lists)
        if len(given) != len(relevant):
            raise InputError("relevant", f"{len(given)} entries, one for each list", len(relevant))
        best, right = list[list[float]](), list[bool]()
        for place, (each, labels) in enumerate(zip(given, relevant, strict=True)):
            if labels is not None:
                ids, scores = each if isinstance(each, tuple) else (each["ids"], each["scores"])
                found = self.rerank(self._plain(ids, f"lists[{place}].ids"), scores)
                best.append(self._similar(found.scores))
                right.append(not {*self._plain(labels, f"relevant[{place}]")}.isdisjoint(found.ids[:1]))
        return replace(self, cut=self._cut.calibrate(best, right, sure=sure))

    @property
    def _cut(self) -> Cut:
        if self.cut is None:
            expected = f"a log of at least {FEWEST_LISTS} lists with two hits or more, to tell confidence"
            raise InputError("lists", expected, self.details.get("lists", 0))
        return self.cut

    def _best(self, ids: Sequence[Any], scores: Sequence[float]) -> list[float]:
        return self._similar(self.rerank(ids, scores).scores)

    def _similar(self, scores: list[float]) -> list[float]:
        return [-score for score in scores] if self.distance else scores

    def save(self, path: str | Path) -> None:
        """Write a file with the columns `id` and `offset`; the rest is JSON in its metadata, `hubless.scores`.

        It is Arrow, as `PUT /v1/scores` takes it, if the name ends in .arrow, and else Parquet. Another file of that
        name is replaced, whole or not at all.
        """
        where = Path(path)
        write = write_arrow if where.suffix == ARROW_ENDING else pq.write_table
        with storage_errors(where), beside(where) as new:
            write(self.table(), new)
            with new.open("rb") as file:
                os.fsync(file.fileno())
            new.replace(where)

    def table(self) -> pa.Table:
        """Return what `of_table` reads."""
        table = pa.table(dict(zip(_COLUMNS, (self.ids, pa.array(self.values)), strict=True)))
        said = {
            "format": FORMAT,
            "distance": self.distance,
            "details": self.details,
            "cut": self.cut and self.cut.as_json(),
        }
        return table.replace_schema_metadata({KEY: orjson.dumps(said, option=orjson.OPT_SERIALIZE_NUMPY)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote. Raises `StorageError` if there is no such file, `InputError` if it is another."""
        where = fetched_file(Path(path), "scores")
        name = f"scores ({where.name})"
        try:
            return cls.of_table(plain_file(where) if where.suffix == ARROW_ENDING else pq.read_table(where), name)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(name, _EXPECTED, one_line(error)) from error

    @classmethod
    def of_table(cls, table: pa.Table, name: str) -> Self:
        """Return the correction that a table holds. Raises `InputError` for another table."""
        if KEY not in (table.schema.metadata or {}) or table.column_names != [*_COLUMNS]:
            raise InputError(name, _EXPECTED, f"columns {', '.join(table.column_names)}")
        details, cut, distance = _read_metadata(table.schema.metadata[KEY], name)
        ids, values = (table.column(column).combine_chunks() for column in _COLUMNS)
        if not pa.types.is_floating(values.type):
            raise InputError(f"{name}.offset", "a column of numbers", str(values.type))
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
        if not len(numbers) or ids.null_count or not np.isfinite(numbers).all():
            raise InputError(name, "ids with finite offsets", "none, nulls or other numbers")
        return cls(id_array(ids, name), numbers, distance, details, cut)


def _read_metadata(metadata: bytes, name: str) -> tuple[dict[str, Any], Cut | None, bool]:
    """Return details, model of confidence, and whether lower is better. Raises `InputError` for other content."""
    try:
        said = orjson.loads(metadata)
        if said["format"] > FORMAT:  # older ones are read
            raise InputError(name, f"format {FORMAT}", f"format {said['format']}, of another hubless")
        details = dict(said["details"])
        if len(details) > _MOST_DETAILS or not all(isinstance(value, int | float) for value in details.values()):
            raise ValueError("details that are no numbers")
        return details, None if said["cut"] is None else Cut.from_json(said["cut"]), said["distance"] is True
    except InputError:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(name, _EXPECTED, f"metadata that says something else: {one_line(error)}") from error
