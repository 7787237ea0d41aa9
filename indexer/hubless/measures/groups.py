"""Bias: whom a ranking shows. Shares of an attribute's groups among the first targets of each query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubless.arrays import F64, I64
from hubless.errors import InputError

MOST_GROUPS = 50
UNKNOWN = "(none)"


@dataclass(frozen=True)
class Groups:
    """An attribute's groups, by name, and the group of each target."""

    names: tuple[str, ...]
    codes: I64

    @property
    def shares(self) -> F64:
        """Share of each group among all targets, (g,)."""
        return np.bincount(self.codes, minlength=len(self.names)) / len(self.codes)

    def by_name(self, shares: F64 | None = None) -> dict[str, float]:
        """Shares (g,) with the names of the groups; by default those among all targets."""
        return dict(zip(self.names, (self.shares if shares is None else shares).tolist(), strict=True))


def as_groups(values: Sequence[Any], attribute: str) -> Groups:
    """Groups of the targets from a categorical column: strings, whole numbers or booleans; None is a group of its own.

    Raises
    ------
    InputError
        if the column is of another type, holds one group only, or more than 50 different values.
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


def group_shares(rows: I64, groups: Groups) -> F64:
    """Share of each group among the first targets of each query.

    The difference of two columns is the bias (#a − #b)/top of each query, as measured with VisoGender; its mean over
    the queries is 0 where both are shown as often.

    Parameters
    ----------
    rows : (m, top) rows of the targets found

    Returns
    -------
    (m, g) float64, each row summing to 1

    Source: Chowdhury et al. (NNN), EMNLP 2024, section 3.3; Hall et al. (VisoGender), NeurIPS 2023.
    """
    m, top = rows.shape
    g = len(groups.names)
    flat = groups.codes[rows] + g * np.arange(m)[:, np.newaxis]
    shares: F64 = np.bincount(flat.ravel(), minlength=m * g).reshape(m, g) / top
    return shares
