"""Free payload: any JSON object a target, with no columns. It is stored as text, in one column that is marked.

A filter asks for one key at a time. The values of a key are gathered by kind the first time that it is asked for, and
kept: a million short rows take 1.3 s then, and 4 ms afterwards.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from hubless.errors import InputError, one_line
from hubless.vectors.arrays import I64, Flags

_NAME, _MARK = "json", {b"hubless": b"free payload"}
_STEP = 8192
"""Rows that are parsed at a time, so that their objects are not in memory all at once."""
_KEYS = 64
_ABSENT = object()
MOST_NESTED = 60
"""Lists and objects inside each other in a payload. Arrow writes 64 at most, and JSON's readers have limits too."""
_STRING = re.compile(rb'"[^"]*"')
_WHOLE = re.compile(rb"(?<![\d.eE+-])-?\d{19,}(?![\d.eE])")
_AS_ZEROS, _LONG = bytes.maketrans(b"123456789", b"0" * 9), b"0" * 19
_OTHERS = bytes(set(range(256)).difference(b'[]{}"'))
_STEPS = np.zeros(256, np.int64)
_STEPS[[*b"[{"]] = 1
_STEPS[[*b"]}"]] = -1

FREE_SCHEMA = pa.schema([pa.field(_NAME, pa.large_string(), metadata=_MARK)])


def is_free(schema: pa.Schema | None) -> bool:
    """Return True if payload of this schema is free JSON."""
    return schema is not None and len(schema) == 1 and _MARK.items() <= (schema.field(0).metadata or {}).items()


def free_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return objects as they are stored. Raises `InputError` naming the row that JSON cannot say, or too deep a one."""
    return pa.table([pa.array([_text(row, place) for place, row in enumerate(rows)], pa.large_string())], FREE_SCHEMA)


def free_rows(
    rows: pa.RecordBatch, keys: Sequence[str] | None = None, places: Iterable[int] | None = None
) -> list[dict[str, Any]]:
    """Return the objects of stored rows, or of some places in them: all of their keys, or those of some that they have.

    Each text is read where it lies. The first call of a function of Arrow's takes 20 ms, and each a tenth of a query.
    """
    texts = rows.column(0)
    found = [orjson.loads(texts[place].as_py()) for place in (range(len(texts)) if places is None else places)]
    if keys is None:
        return found
    return [{key: value for key in keys if (value := _value_of(row, key)) is not _ABSENT} for row in found]


class OfKind(NamedTuple):
    """Values of one kind: the rows that have them, ascending, and the values."""

    rows: I64
    values: pa.Array


class Values:
    """The values of one key in n rows, by kind; `there` says which rows have one. `elements` are those of lists."""

    def __init__(self, values: Sequence[Any]) -> None:
        """Sort values (n,) by their kind; an absent one and None count as none."""
        kinds: dict[pa.DataType, tuple[list[int], list[Any]]] = {}
        nested: list[Any] = []
        parents: list[int] = []
        self.there = np.zeros(len(values), np.bool_)
        for row, value in enumerate(values):
            if value is _ABSENT or value is None:
                continue
            self.there[row] = True
            if kind := _KINDS.get(type(value)):
                rows, found = kinds.setdefault(kind(value), ([], []))
                rows.append(row)
                found.append(value)
            elif isinstance(value, list):
                nested += value
                parents += [row] * len(value)
        self._kinds = {
            kind: OfKind(np.array(rows, np.int64), pa.array(found, kind)) for kind, (rows, found) in kinds.items()
        }
        self.parents: I64 = np.array(parents, np.int64)
        self.elements = Values(nested) if nested else None

    def of(self, kind: pa.DataType) -> OfKind | None:
        """Return the values of a kind: bool, int64, float64, large_string, or uint64 for whole numbers from 2^63."""
        return self._kinds.get(kind)

    def which(self, kind: pa.DataType, test: Callable[[pa.Array], Any]) -> Flags:
        """Return the rows with a value of a kind that passes a test, (n,)."""
        found = np.zeros(len(self.there), np.bool_)
        if (known := self.of(kind)) is not None:
            found[known.rows[test(known.values).to_numpy(zero_copy_only=False).astype(np.bool_)]] = True
        return found


class FreeBatch:
    """Stored rows, of which filters ask for the values of keys. Several threads may use it."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.num_rows: int = rows.num_rows
        self._texts: pa.Array = rows.column(0)
        self._known: OrderedDict[str, Values] = OrderedDict()

    def column(self, key: str) -> Values:
        """Return the values of a key. `a.b` is the key itself, or else `b` of the object `a`."""
        if (known := self._known.get(key)) is None:
            known = self._known[key] = Values([_value_of(row, key) for row in self._objects()])
            while len(self._known) > _KEYS:
                self._known.pop(next(iter(self._known)), None)
        return known

    def _objects(self) -> Iterator[Mapping[str, Any]]:
        for start in range(0, self.num_rows, _STEP):
            for text in self._texts.slice(start, _STEP).to_pylist():
                yield orjson.loads(text)


def _value_of(row: Mapping[str, Any], key: str) -> Any:
    if key in row:
        return row[key]
    first, dot, rest = key.partition(".")
    inside = row.get(first) if dot else None
    return _value_of(inside, rest) if isinstance(inside, dict) else _ABSENT


_KINDS: dict[type, Callable[[Any], pa.DataType]] = {
    bool: lambda value: pa.bool_(),
    int: lambda value: pa.int64() if value < 2**63 else pa.uint64(),
    float: lambda value: pa.float64(),
    str: lambda value: pa.large_string(),
}


def _text(row: Mapping[str, Any], place: int) -> str:
    if not isinstance(row, Mapping):
        raise InputError(f"payload, row {place}", "a dict", type(row).__name__)
    try:
        text = orjson.dumps(dict(row), option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise InputError(f"payload, row {place}", "what JSON can say", one_line(error)) from error
    if is_deeper(text, MOST_NESTED):
        raise InputError(f"payload, row {place}", f"at most {MOST_NESTED} lists and objects inside each other", "more")
    return text.decode()


def is_deeper(text: bytes, most: int) -> bool:
    """Return whether more than `most` lists and objects stand inside each other in JSON text. Takes 2 ns a byte."""
    for byte in (b"[", b"{"):
        place, left = -1, most // 2
        # to count it in 6 KB takes ten times as long
        while left >= 0 and (place := text.find(byte, place + 1)) >= 0:
            left -= 1
        if left < 0:
            break
    else:
        return False
    brackets = _STRING.sub(b"", _without_escapes(text).translate(None, _OTHERS))
    return bool(np.cumsum(_STEPS[np.frombuffer(brackets, np.uint8)]).max(initial=0) > most)


def beyond_64_bits(text: bytes) -> list[str]:
    """Return the whole numbers in JSON text that orjson makes floats of. Takes 1 ns a byte where there is none."""
    if _LONG not in text.translate(_AS_ZEROS).replace(b"." + _LONG, b""):  # faster than a pattern
        return []
    numbers = map(bytes.decode, _WHOLE.findall(_STRING.sub(b'""', _without_escapes(text))))
    return [number for number in numbers if not -(2**63) <= int(number) < 2**64]


def _without_escapes(text: bytes) -> bytes:
    """Return JSON text in which each quote begins or ends a string."""
    return text.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in text else text
