"""Lists of ids and scores from Python, Arrow or pandas: what is wrong is named by its list and its hit."""

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError, one_line
from hubless.measures.plain_ids import hit_like, plain_ids
from hubless.scores.logged_lists import ScoreLists, mostly_rise
from hubless.vectors.arrays import F64, I64, first_null, is_list
from hubless.vectors.ids import id_array
from hubless.vectors.object_rows import brief

Lists: TypeAlias = Any
"""Pairs of ids and scores, or mappings with `ids` and `scores`, one a query; a table with these columns of lists; or a
table with the columns `query`, `id` and `score`, a row a hit."""

_COLUMNS, _LONG = ("ids", "scores"), ("query", "id", "score")
_EXPECTED = "lists of ids and scores: pairs, or mappings with ids and scores, one a query"


def read_lists(lists: Lists, *, distance: bool = False, name: str = "lists") -> ScoreLists:
    """Return lists as they are counted. Lists without a hit are left out.

    Raises `InputError` that names the list and the hit: for ids and scores of two numbers, for what is no id or no
    finite number, for an item that a list has twice, for distances that are not called so, and for scores that are
    ranks, such as those of reciprocal rank fusion.
    """
    if hasattr(lists, "__arrow_c_stream__") or hasattr(lists, "iloc"):
        ids, columns, scores, lengths = _of_table(lists, name)
    elif isinstance(lists, str | bytes | Mapping) or not isinstance(lists, Iterable):
        raise InputError(name, _EXPECTED, brief(lists))
    else:
        ids, columns, scores, lengths = _of_rows(lists, name)
    if not (finite := np.isfinite(scores)).all():
        number = int(np.argmin(finite))
        raise InputError(_place(number, lengths, name, "scores"), "a finite number", scores[number])
    if not distance and mostly_rise(scores, lengths):
        raise InputError(name, "scores, higher is better; give distance=True for distances", "scores that rise")
    made = ScoreLists.of(ids, columns, scores, lengths, distance=distance)
    made.check(name, distance=distance)
    return made


_Read: TypeAlias = tuple[pa.Array, "np.ndarray[Any, np.dtype[np.int32]]", F64, I64]
"""Ids (n,), and of all hits columns (e,) and scores (e,); the number of hits of each list."""


class _Rows:
    """Hits as they come, a few bytes each, with a number for each id."""

    def __init__(self) -> None:
        self.known: dict[str | int, int] = {}
        self.like: tuple[bool, str] = True, ""
        self.columns = array("i")
        self.scores = array("d")
        self.lengths = array("q")

    def add(self, ids: list[Any], scores: list[Any], place: str) -> None:
        if len(ids) != len(scores):
            raise InputError(place, f"as many scores as ids, {len(ids)}", len(scores))
        if ids and not self.known:
            self.like = hit_like(ids[0])
        for each in plain_ids(ids, *self.like, f"{place}.ids"):
            self.columns.append(self.known.setdefault(each, len(self.known)))
        try:
            if bool in set(map(type, scores)):
                raise TypeError
            self.scores.extend(scores)
        except (TypeError, OverflowError):
            hit = next(hit for hit, each in enumerate(scores) if not _is_number(each))
            raise InputError(f"{place}.scores[{hit}]", "a number", brief(scores[hit])) from None
        self.lengths.append(len(ids))


def _of_rows(lists: Iterable[Any], name: str) -> _Read:
    rows = _Rows()
    for number, each in enumerate(lists):
        rows.add(*_pair(each, f"{name}[{number}]"), f"{name}[{number}]")
    try:
        ids = id_array([*rows.known], name) if rows.known else pa.array([], pa.int64())
    except InputError as error:
        raise error.about(f"{name}.ids") from error
    columns, scores, lengths = (np.array(each) for each in (rows.columns, rows.scores, rows.lengths))
    return ids, columns.astype(np.int32, copy=False), scores, lengths


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _pair(each: Any, place: str) -> tuple[list[Any], list[Any]]:
    if isinstance(each, Mapping):
        if missing := [column for column in _COLUMNS if column not in each]:
            raise InputError(place, "ids and scores", f"no {missing[0]}")
        each = [each[column] for column in _COLUMNS]
    if not isinstance(each, list | tuple) or len(each) != len(_COLUMNS):
        raise InputError(place, "a pair of ids and scores", brief(each))
    ids, scores = (_plain(part, f"{place}.{column}") for part, column in zip(each, _COLUMNS, strict=True))
    return ids, scores


def _plain(values: Any, place: str) -> list[Any]:
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            values = getattr(values, method)()
    if not isinstance(values, list | tuple):
        raise InputError(place, "a list", brief(values))
    return list(values)


def _of_table(given: Any, name: str) -> _Read:
    """Read lists from a table, a row a list or a row a hit. Raises `InputError` naming column and row."""
    try:
        table = pa.table(given) if hasattr(given, "__arrow_c_stream__") else pa.Table.from_pandas(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(name, "a table that Arrow can read", one_line(error)) from error
    if all(column in table.column_names for column in _COLUMNS):
        ids, scores, lengths = _of_lists(table, name)
    elif all(column in table.column_names for column in _LONG):
        ids, scores, lengths = _of_hits(table, name)
    else:
        expected = f"the columns {' and '.join(_COLUMNS)} of lists, or {', '.join(_LONG)} with a row a hit"
        raise InputError(name, expected, ", ".join(table.column_names) or "no column")
    if not pa.types.is_floating(scores.type) and not pa.types.is_integer(scores.type):
        raise InputError(f"{name}.scores", "a column of numbers", str(scores.type))
    if scores.null_count:
        place = _place(first_null(scores), lengths, name, "scores")
        raise InputError(place, "a number", "a null")
    try:
        known = id_array(ids, name)
    except InputError as error:
        row = error.parameter.rpartition("row ")[2]
        place = _place(int(row), lengths, name, "ids") if row.isdigit() else f"{name}.ids"
        raise InputError(place, error.expected, error.received) from error
    encoded = pc.dictionary_encode(known)
    columns = encoded.indices.to_numpy(zero_copy_only=False)
    return encoded.dictionary, columns, scores.to_numpy(zero_copy_only=False).astype(np.float64), lengths


def _of_lists(table: pa.Table, name: str) -> tuple[pa.Array, pa.Array, I64]:
    ids, scores = (table.column(column).combine_chunks() for column in _COLUMNS)
    for column, each in zip(_COLUMNS, (ids, scores), strict=True):
        if not is_list(each.type):
            raise InputError(f"{name}.{column}", "a column of lists", str(each.type))
        if each.null_count:
            raise InputError(f"{name}[{first_null(each)}].{column}", "a list", "a null")
    lengths, others = (pc.list_value_length(each).to_numpy(zero_copy_only=False) for each in (ids, scores))
    if (wrong := np.flatnonzero(lengths != others)).size:
        row = int(wrong[0])
        raise InputError(f"{name}[{row}]", f"as many scores as ids, {lengths[row]}", others[row])
    return ids.flatten(), scores.flatten(), lengths.astype(np.int64)


def _of_hits(table: pa.Table, name: str) -> tuple[pa.Array, pa.Array, I64]:
    query, ids, scores = (table.column(column).combine_chunks() for column in _LONG)
    if query.null_count:
        raise InputError(f"{name}.query, row {first_null(query)}", "a query", "a null")
    which = pc.dictionary_encode(query).indices.to_numpy(zero_copy_only=False)
    order = pa.array(np.argsort(which, kind="stable"))
    return ids.take(order), scores.take(order), np.bincount(which).astype(np.int64)


def _place(number: int, lengths: I64, name: str, column: str) -> str:
    ends = np.cumsum(lengths)
    row = int(np.searchsorted(ends, number, "right"))
    return f"{name}[{row}].{column}[{number - int(ends[row] - lengths[row])}]"
