"""Clicks as users give them: a table of pairs, a column of the bank's table, or ids for each bank query."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hubless.corrections.banks.click_prior import click_prior
from hubless.corrections.roles import PRIOR, TargetRole
from hubless.corrections.supported import BELIEVED, client_numbers
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.errors import InputError, names_of
from hubless.measures.labels import KnownItems, Labels, known_queries, right_rows
from hubless.store.clients import counting_rows
from hubless.store.draws import CLICKS
from hubless.store.kept_clicks import read_clicks
from hubless.vectors.arrays import F64, I64, Flags, is_list, to_arrow
from hubless.vectors.files import Items
from hubless.vectors.listing import ending_of, is_there
from hubless.vectors.payload import PayloadLike, as_payload
from hubless.vectors.readers.arrow_rows import reading_payload
from hubless.vectors.readers.columns import Column
from hubless.vectors.sources import SelectedVectors, VectorSource, as_source

_PAIR = ("query", "target")
_CLIENT = "client"
_TEXTS = (".csv", ".tsv")
_GONE = -1
_OF_FIRST = 1 / 3
"""The weight of a click on the first hit. Measured: with 0 logs of few queries lose their gain, with 1 biased ones."""

ClicksLike: TypeAlias = PayloadLike | Labels
"""Forms of clicks: docs/methods.md, "Clicks"."""
_log = logging.getLogger("hubless.banks")


@dataclass(frozen=True)
class Clicks:
    """Rows of clicks (p,): which of the asked queries, which target, how often, and whether that was the first hit."""

    queries: I64
    targets: I64
    counts: F64
    first: Flags

    def __getitem__(self, rows: I64 | Flags) -> "Clicks":
        return Clicks(*(each[rows] for each in vars(self).values()))

    def left(self, queries: I64, targets: I64) -> "Clicks":
        """Return the clicks on what is left: these rows, ascending, of queries and of targets."""
        kept = self[np.isin(self.queries, queries) & np.isin(self.targets, targets)]
        return replace(
            kept, queries=np.searchsorted(queries, kept.queries), targets=np.searchsorted(targets, kept.targets)
        )

    def columns(self, targets: int, power: float) -> TargetColumns:
        """Return the target prior of so many targets that clicks make; no column if they say nothing.

        People click what is shown first, whatever it is: such clicks weigh less, by how much likelier they are.
        """
        counted = np.bincount(self.targets, self.counts * np.where(self.first, _OF_FIRST, 1), targets)
        prior = click_prior(counted.astype(np.float64), power)
        return NO_COLUMNS if prior is None else NO_COLUMNS.beside(PRIOR, prior)


def open_clicks(given: ClicksLike, bank: Items | None, targets: KnownItems) -> tuple[VectorSource, Clicks]:
    """Return the queries (m, d) of clicks, and the clicks: rows of these and of the targets.

    Queries are vectors of the table, or rows of the bank; None for a bank that has no rows to be named. What is not
    there any more is left out, and the log says so. Raises `InputError` naming what is wrong, and `StorageError`.
    """
    if bank is not None and isinstance(given, str) and bank.payload is not None and given in bank.payload_columns:
        with reading_payload():
            given = bank.payload.to_table(columns=[given])[given]
    elif (table := _table(given)) is not None:
        return _of_table(table, bank, targets)
    if bank is None:
        raise InputError("clicks", "a table whose column query has vectors", type(given).__name__)
    found = right_rows(Column(given, "clicks"), targets, known_queries(bank))
    rows = np.concatenate(found)
    queries = np.repeat(np.arange(len(found)), [*map(len, found)])
    return _of(Clicks(queries, rows, np.ones(len(rows)), np.zeros(len(rows), bool)), bank.vectors)


def _table(given: ClicksLike) -> pa.Table | None:
    """Return a table of pairs; None for labels."""
    first = given[0] if isinstance(given, list) and given else given
    types = None
    if isinstance(given, str | Path):
        if not is_there(Path(given)):
            raise InputError("clicks", "a file, a folder of the query sample, or a column of the query bank", given)
        if any((Path(given) / each).is_dir() for each in CLICKS):
            return read_clicks(given)
        types = dict.fromkeys(_PAIR, "string") if ending_of(Path(given)) in _TEXTS else None
    elif not hasattr(given, "__arrow_c_stream__") and not (isinstance(first, Mapping) and "target" in first):
        return None
    with reading_payload():
        try:
            table = as_payload(given, types).to_table()
        except InputError:
            table = as_payload(given).to_table()  # if it lacks one of the pair, that is named
    if missing := [name for name in _PAIR if name not in table.column_names]:
        raise InputError("clicks", f"a table with a column {missing[0]}", names_of(table.column_names))
    return table


def _of_table(table: pa.Table, bank: Items | None, targets: KnownItems) -> tuple[VectorSource, Clicks]:
    kind = table.schema.field("query").type
    rows = _rows(table, "target", targets)
    if is_list(kind):
        source = as_source(table["query"], "clicks, column query")
        queries = np.arange(len(table))
    elif bank is None:
        raise InputError("clicks, column query", "vectors, as the query bank has no rows to be named", kind)
    else:
        source = bank.vectors
        queries = _rows(table, "query", known_queries(bank))
    given = Clicks(queries, rows, _numbers(table, "count", 1), _numbers(table, "position", 2) == 1)
    kept = np.flatnonzero((queries != _GONE) & (rows != _GONE))
    if len(kept) < len(table):
        _log.warning(
            f"{len(table) - len(kept):,} of {len(table):,} rows of clicks are left out: what they name is gone"
        )
    given = given[kept]
    if _CLIENT in table.column_names:
        given = _of_people(given, table[_CLIENT].take(to_arrow(kept)).to_pylist())
    return _of(given, source)


def _rows(table: pa.Table, name: str, known: KnownItems) -> I64:
    """Return the row of each id in a column (p,), −1 where nothing has it."""
    column = Column(table[name], f"clicks, column {name}", as_text=True)
    found = right_rows(column, known, KnownItems(len(table)), unknown_ids=True)
    return np.array([rows[0] if len(rows) else _GONE for rows in found], np.int64)


def _numbers(table: pa.Table, name: str, unknown: int) -> F64:
    """Return a column of numbers above 0 (p,)."""
    if name not in table.column_names:
        return np.full(len(table), float(unknown))
    values = np.array([unknown if each is None else each for each in table[name].to_pylist()])
    return TargetRole(f"clicks, column {name}", "a number above 0", 0.0).checked(values, len(table))


def _of_people(given: Clicks, clients: Sequence[str | None]) -> Clicks:
    """Return the clicks that count: one of a client (p,) for a target, and a tenth of all at most. None is believed."""
    numbers = client_numbers(clients)
    named = np.flatnonzero(numbers != BELIEVED)
    given.counts[named] = 1
    _, once = np.unique(np.stack([numbers[named], given.targets[named]]), axis=1, return_index=True)
    rows = np.sort(np.concatenate([np.flatnonzero(numbers == BELIEVED), named[once]]))
    counted, kept = counting_rows([clients[row] for row in rows.tolist()], 0, [None])
    if not counted.are_enough:
        raise InputError("clicks, column client", f"at least {counted.clients_needed} clients", counted.clients)
    return given[rows[kept]]


def _of(given: Clicks, source: VectorSource) -> tuple[VectorSource, Clicks]:
    """Return the queries of a source that have clicks, and the clicks by these."""
    if not len(given.queries):
        raise InputError("clicks", "some on targets that are there, of queries that are there", "none")
    known, queries = np.unique(given.queries, return_inverse=True)
    return SelectedVectors(source, known, source.name), replace(given, queries=queries)
