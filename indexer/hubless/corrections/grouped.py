"""Vectors whose rows belong to groups, such as tenants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from hubless.corrections.roles import NO_GROUP, Names
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import HeldVectors


@dataclass(frozen=True)
class GroupedVectors(HeldVectors):
    """Rows (n, d) in memory, with the group of each."""

    groups: Names = field(repr=False)


def rows_by_group(groups: Names) -> Mapping[str, I64]:
    """Return the rows of each group, ascending, by its name; without those that belong to none."""
    names, codes = coded(groups)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    return {name: rows for name, rows in zip(names, parts, strict=bool(names)) if name != NO_GROUP}


def coded(groups: Names) -> tuple[list[str], I64]:
    """Return the names of groups, in the order in which they come, and for each row the place of its own, (n,)."""
    found = pa.array(groups, pa.large_string()).dictionary_encode()
    return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64)


def with_groups(vectors: F32, column: str, groups: Sequence[str]) -> pa.Table:
    """Return vectors (n, d) as a table with a column that has the group of each."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table({"vector" if column != "vector" else "vectors": lists, column: pa.array(groups, pa.large_string())})
