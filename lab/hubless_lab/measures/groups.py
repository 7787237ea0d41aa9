"""Bias of a ranking: shares of an attribute's groups among the first targets of each query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.vectors.arrays import F64, I64
from hubless.vectors.readers.columns import listed, read_column

MOST_GROUPS = 50
UNKNOWN = "(none)"


@dataclass(frozen=True)
class Groups:
    """Names of an attribute's groups, the group of each target, and the ids of these if their file has them."""

    names: tuple[str, ...]
    codes: I64
    ids: pa.Array | None = None

    @property
    def shares(self) -> F64:
        """Share of each group among all targets, (g,)."""
        return np.bincount(self.codes, minlength=len(self.names)) / len(self.codes)

    def by_name(self, shares: F64 | None = None) -> dict[str, float]:
        """Return shares (g,) by group name; by default the shares among all targets."""
        return dict(zip(self.names, (self.shares if shares is None else shares).tolist(), strict=True))


def as_groups(values: Sequence[Any], attribute: str) -> Groups:
    """Return the groups of targets by a column of strings, whole numbers or booleans. None is a group too.

    Raises `InputError` for other values and for one group.
    """
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str | int | np.integer | np.bool_):
            expected = "a categorical column: strings, whole numbers or booleans"
            raise InputError(f"attribute {attribute}, row {row}", expected, f"{type(value).__name__} {value!r}")
    named = [UNKNOWN if value is None else str(value) for value in values]
    names, codes = np.unique(named, return_inverse=True)
    if len(names) < 2:
        raise InputError(f"attribute {attribute}", "at least two groups to compare", f"one, {str(names[0])!r}")
    if len(names) > MOST_GROUPS:
        raise InputError(f"attribute {attribute}", f"at most {MOST_GROUPS} groups", f"{len(names)} different values")
    return Groups(tuple(names.tolist()), codes.astype(np.int64))


def read_groups(path: Path, attribute: str = "groups") -> Groups:
    """Return the groups of targets from a file that `read_column` reads, by its column of this name."""
    column = read_column(path, attribute)
    return replace(as_groups(listed(column, "the group of each target"), path.name), ids=column.ids)


def group_shares(rows: I64, groups: Groups) -> F64:
    """Return the share (m, g) of each group among the first targets of each query, rows (m, top).

    Source: Chowdhury et al. (NNN), EMNLP 2024; Hall et al. (VisoGender), NeurIPS 2023.
    """
    m, top = rows.shape
    g = len(groups.names)
    flat = groups.codes[rows] + g * np.arange(m)[:, np.newaxis]
    shares: F64 = np.bincount(flat.ravel(), minlength=m * g).reshape(m, g) / top
    return shares


def group_histogram(shares: F64, top: int) -> I64:
    """Return how many queries show 0, 1, … `top` targets of each group, (g, top + 1), from their shares (m, g)."""
    counts = np.rint(shares * top).astype(np.int64)
    histogram: I64 = np.stack([np.bincount(column, minlength=top + 1) for column in counts.T])
    return histogram
