"""Clicks as users give them: a table of pairs, a column of the bank's table, or ids for each bank query."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hubless.builder.banks.click_choice import Clicks
from hubless.builder.inputs.items import reading_payload
from hubless.corrections.supported import BELIEVED, client_numbers
from hubless.errors import InputError, PointNotFound, names_of
from hubless.measures.labels import KnownItems, Labels, known_queries, known_rows
from hubless.store.clients import FEWEST_CLIENTS, first_of_each, most_of_each
from hubless.vectors.arrays import F64, I64, to_arrow
from hubless.vectors.files import Items
from hubless.vectors.listing import ending_of
from hubless.vectors.object_rows import brief
from hubless.vectors.payload import PayloadLike, as_payload
from hubless.vectors.readers.columns import Column
from hubless.vectors.sources import HeldVectors, VectorSource, as_source

QUERY, TARGET, COUNT, POSITION, CLIENT = "query", "target", "count", "position", "client"
_PAIR = (QUERY, TARGET)
_TEXTS = (".csv", ".tsv")
_GONE = -1

_log = logging.getLogger("hubless.banks")

ClicksLike: TypeAlias = PayloadLike | Labels
"""Forms of clicks: docs/methods.md, "Clicks"."""


def open_clicks(given: ClicksLike, bank: Items | None, targets: KnownItems) -> tuple[VectorSource, Clicks]:
    """Return the queries (m, d) of clicks, and the clicks: rows of these and of the targets.

    Queries are vectors of the table, or rows of the bank; None for a bank that has no rows to be named. What is not
    there any more is left out, and the log says so. Raises `InputError` naming what is wrong, and `StorageError`.
    """
    if bank is not None and isinstance(given, str) and given in bank.payload_columns and bank.payload is not None:
        with reading_payload():
            column = bank.payload.to_table(columns=[given]).column(0)
        return _of_labels(Column(column, f"clicks (column {given})"), bank, targets)
    as_text = isinstance(given, str | Path) and ending_of(Path(given)) in _TEXTS
    if (table := _table(given, as_text)) is not None:
        return _of_table(table, bank, targets, as_text)
    if bank is None:
        raise InputError("clicks", f"a table of clicks with vectors in its column {QUERY}", type(given).__name__)
    return _of_labels(Column(given, "clicks"), bank, targets)


def _table(given: ClicksLike, as_text: bool) -> pa.Table | None:
    """Return a table of pairs; None for labels."""
    first = given[0] if isinstance(given, list) and given else given
    tabular = isinstance(given, str | Path) or hasattr(given, "__arrow_c_stream__")
    if not tabular and not (isinstance(first, Mapping) and TARGET in first):
        return None
    with reading_payload():
        table = as_payload(given, dict.fromkeys(_PAIR, "string") if as_text else None).to_table()
    if missing := [name for name in _PAIR if name not in table.column_names]:
        raise InputError("clicks", f"a table with a column {missing[0]}", names_of(table.column_names))
    return table


def _of_labels(labels: Column, bank: Items, targets: KnownItems) -> tuple[VectorSource, Clicks]:
    found = known_rows(labels, targets, known_queries(bank), parameter="clicks")
    clicked = [(query, row) for query, rows in enumerate(found) if rows is not None for row in rows.tolist()]
    queries, rows = np.array(clicked, np.int64).reshape(-1, 2).T
    return _of_bank(bank, queries, Clicks(queries, rows, np.ones(len(rows)), np.zeros(len(rows), bool)))


def _of_table(table: pa.Table, bank: Items | None, targets: KnownItems, as_text: bool) -> tuple[VectorSource, Clicks]:
    asked = table[QUERY]
    vectors = pa.types.is_list(asked.type) or pa.types.is_fixed_size_list(asked.type)
    rows = _rows(table[TARGET], "target", targets, as_text)
    if vectors:
        queries = np.arange(len(table))
    elif bank is None:
        raise InputError("clicks, column query", "vectors, as the query bank has no rows to be named", asked.type)
    else:
        queries = _rows(asked, "query", known_queries(bank), as_text)
    counts, places = (_numbers(table, name) for name in (COUNT, POSITION))
    given = Clicks(queries, rows, np.where(np.isnan(counts), 1.0, counts), places == 1)
    kept = np.flatnonzero((queries >= 0) & (rows >= 0))
    if len(kept) < len(table):
        _log.warning(
            f"{len(table) - len(kept):,} of {len(table):,} rows of clicks are left out: what they name is gone"
        )
    given = given[kept]
    if CLIENT in table.column_names:
        given = _of_people(given, table[CLIENT].take(to_arrow(kept)).to_pylist())
    if not vectors and bank is not None:
        return _of_bank(bank, given)
    known, queries = np.unique(given.queries, return_inverse=True)
    found = as_source(asked.take(to_arrow(known)), "clicks, column query")
    return found, replace(given, queries=queries)


def _rows(column: pa.ChunkedArray, name: str, known: KnownItems, as_text: bool) -> I64:
    """Return the row of each id (p,); −1 where nothing has it. Raises `InputError` for ids of another type, or none."""
    coded = column.combine_chunks().dictionary_encode()
    rows = [_GONE]  # of null
    for value in coded.dictionary.to_pylist():
        try:
            row = known.row(value, as_text)
        except PointNotFound:
            row = None
        except InputError as error:
            raise InputError(f"clicks, column {name}", error.expected, brief(value)) from error
        rows.append(_GONE if row is None else row)
    if max(rows) == _GONE:
        raise InputError(f"clicks, column {name}", known.expected, "none that is there")
    return np.array(rows)[1 + coded.indices.fill_null(-1).to_numpy()]


def _numbers(table: pa.Table, name: str) -> F64:
    """Return a column of numbers from 1 on (p,), NaN where it says nothing."""
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    values = table[name].to_numpy()
    numbers = values.astype(np.float64) if values.dtype.kind in "iuf" else np.zeros(len(values))
    if len(wrong := np.flatnonzero(~np.isnan(numbers) & ~(numbers >= 1) | np.isinf(numbers))):
        raise InputError(f"clicks, column {name}, row {wrong[0]}", "a number from 1 on", brief(values[wrong[0]]))
    return numbers


def _of_people(given: Clicks, clients: Sequence[str | None]) -> Clicks:
    """Return the clicks that count: one of a client for a target, and a tenth of all at most; None is believed."""
    numbers = client_numbers(clients)
    named = np.flatnonzero(numbers != BELIEVED)
    if len(named) == len(numbers) and (count := len(np.unique(numbers))) < FEWEST_CLIENTS:
        raise InputError("clicks, column client", f"at least {FEWEST_CLIENTS} different clients", count)
    once = named[np.unique(np.stack([numbers, given.targets])[:, named], axis=1, return_index=True)[1]]
    given.counts[named] = 1
    others = np.flatnonzero(numbers == BELIEVED)
    most = most_of_each(int(given.counts[others].sum()), np.unique(numbers[once], return_counts=True)[1].tolist())
    rows = np.sort(np.concatenate([once, others]))
    return given[rows[first_of_each([clients[row] or "" for row in rows.tolist()], most, [""])]]


def _of_bank(bank: Items, given: Clicks) -> tuple[VectorSource, Clicks]:
    """Return the queries of the bank that have clicks, and the clicks by these."""
    known, queries = np.unique(given.queries, return_inverse=True)
    return HeldVectors(bank.vectors.take(known), bank.vectors.name), replace(given, queries=queries)
