"""The table of bank queries: what is known of each is a column, and stays with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.given_columns import bank_columns
from hubless.corrections.banks.counts import counts_of
from hubless.corrections.grouped import GroupedVectors
from hubless.corrections.roles import FIT_BY
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.errors import InputError
from hubless.measures.labelled_pairs import calibrating_rows
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.measures.repeats import with_copies
from hubless.store.bundle import Played
from hubless.vectors.arrays import I64
from hubless.vectors.files import Items
from hubless.vectors.sources import StackedVectors, VectorSource, in_memory

QUERY_BANK = "query bank"


@dataclass(frozen=True)
class BankTable:
    """Queries (b, d), how often each was asked (b,), by whom, None whoever is believed, columns by role, and its id.

    They are as they were given, or as they are `compared`. `relevant` has the rows of the right targets of each, None
    where nobody knows.
    """

    queries: VectorSource
    counts: I64
    clients: Sequence[str | None]
    columns: TargetColumns = NO_COLUMNS
    ids: pa.Array | None = None
    compared: bool = False
    relevant: Sequence[I64 | None] | None = None

    @classmethod
    def of(cls, items: Items, roles: Mapping[str, Played | TargetColumn], name: str = "the query bank") -> Self:
        """Return the queries of a file, with columns that play roles, whose errors call the bank by `name`."""
        count = items.vectors.shape[0]
        return cls(items.vectors, counts_of(items), [None] * count, bank_columns(items, roles, name), items.ids)

    @classmethod
    def joined(cls, banks: "Sequence[BankTable]") -> "BankTable":
        """Return the rows of some banks, one after another. Several have no ids, which may be the same."""
        if len(banks) == 1:
            return banks[0]
        return BankTable(
            StackedVectors([each.queries for each in banks], QUERY_BANK),
            np.concatenate([each.counts for each in banks]),
            [client for each in banks for client in each.clients],
            TargetColumns.joined([each.columns for each in banks]),
            compared=banks[0].compared,
        )

    @property
    def source(self) -> VectorSource:
        """The queries with what a fit has to know of each: its group, if there are any, and how often it was asked."""
        bank = self.queries
        if (groups := self.columns.of(FIT_BY)) is not None:
            bank = GroupedVectors(in_memory(bank), bank.name, groups.values)
        return with_copies(bank, self.counts)


def labels_of(
    relevant: Labels | None, asked: Items | None, targets: KnownItems, count: int = 0, *, unknown_ids: bool = False
) -> list[I64 | None] | None:
    """Return the rows of the right targets of each bank query; None without labels.

    Those of the queries that were `asked` come last of `count`. `unknown_ids` of targets that are gone are left out.
    """
    if relevant is None:
        return None
    if asked is None:
        raise InputError("relevant", "none without the queries whose right targets it has", "some")
    rows = calibrating_rows(relevant, targets, known_queries(asked), unknown_ids=unknown_ids)
    return [None] * (count - len(rows)) + rows
