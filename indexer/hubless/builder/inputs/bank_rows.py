"""Bank queries as rows of a table: what is known of each is a column, and stays with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.given_columns import bank_groups_of
from hubless.corrections.banks.counts import counts_of
from hubless.corrections.roles import Names
from hubless.corrections.supported import asked_by
from hubless.vectors.arrays import I64
from hubless.vectors.files import Items
from hubless.vectors.sources import StackedVectors, VectorSource, in_memory

QUERY_BANK = "query bank"


@dataclass(frozen=True)
class BankRows:
    """Queries (b, d), how often each was asked (b,), by whom, None whoever is believed, its group, and its id.

    They are as they were given, or as they are `compared`.
    """

    queries: VectorSource
    counts: I64
    clients: Sequence[str | None]
    groups: Names | None = None
    ids: pa.Array | None = None
    compared: bool = False

    @classmethod
    def of(cls, items: Items, fit_by: str | None = None, name: str = "the query bank") -> Self:
        """Return the queries of a file, with groups of column `fit_by`, whose errors call the bank by `name`."""
        groups = None if fit_by is None else bank_groups_of(items, fit_by, name)
        return cls(items.vectors, counts_of(items), [None] * items.vectors.shape[0], groups, items.ids)

    @classmethod
    def joined(cls, banks: "Sequence[BankRows]") -> "BankRows":
        """Return the rows of some banks, one after another. Several have no ids, which may be the same."""
        if len(banks) == 1:
            return banks[0]
        groups = [each.groups for each in banks if each.groups is not None]
        return BankRows(
            StackedVectors([each.queries for each in banks], QUERY_BANK),
            np.concatenate([each.counts for each in banks]),
            [client for each in banks for client in each.clients],
            np.concatenate(groups) if groups else None,
            compared=banks[0].compared,
        )

    def asked(self, read: VectorSource) -> VectorSource:
        """Return the queries as they were read, with their clients."""
        return asked_by(in_memory(read), read.name, self.clients) if any(self.clients) else read
