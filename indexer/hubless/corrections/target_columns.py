"""Columns of targets by their roles. Wherever the numbers came from, after the door they are rows of one table.

Fits, offsets and passes over the targets hand a table on without knowing what is in it. What a role does to an offset
is said here, and what it does to a fit in `fits.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.base import Rows
from hubless.corrections.roles import FIT_BY, OWN_OFFSETS, PRIOR, TargetRole
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32


@dataclass(frozen=True)
class TargetColumn:
    """Values of n targets: numbers (n,), NaN where nobody says, or names (n,), "" for none.

    `usual` is the number of targets whose own nobody knows; None for the median. `column` is the payload column that
    says so, None if there is none.
    """

    values: NDArray[Any]
    usual: float | None = None
    column: str | None = None

    @property
    def median(self) -> float:
        """The number of targets whose own nobody knows."""
        return float(np.nanmedian(self.values)) if self.usual is None else self.usual

    @property
    def filled(self) -> "TargetColumn":
        """Numbers without NaN."""
        return replace(self, values=np.where(np.isnan(self.values), self.median, self.values))

    def __getitem__(self, rows: Any) -> "TargetColumn":
        return replace(self, values=self.values[rows])


@dataclass(frozen=True)
class TargetColumns:
    """Columns of n targets by role; a role that is not there is played by none."""

    by_role: Mapping[str, TargetColumn] = field(default_factory=dict)

    @classmethod
    def joined(cls, tables: "Sequence[TargetColumns]") -> "TargetColumns":
        """Return the rows of tables of the same columns, one after another."""
        found = {name: np.concatenate([each.by_role[name].values for each in tables]) for name in tables[0].by_role}
        return cls({name: replace(tables[0].by_role[name], values=values) for name, values in found.items()})

    def __getitem__(self, rows: Any) -> "TargetColumns":
        return TargetColumns({name: column[rows] for name, column in self.by_role.items()})

    def of(self, role: TargetRole) -> TargetColumn | None:
        return self.by_role.get(role.parameter)

    def beside(self, role: TargetRole, column: TargetColumn) -> "TargetColumns":
        """Return the table with a column that plays a role."""
        return TargetColumns({**self.by_role, role.parameter: column})

    def kept(self, count: int, before: "TargetColumns") -> "TargetColumns":
        """Return the numbers that no payload column has, of `count` targets: those of the last as they were before."""
        found = {}
        for name, column in self.by_role.items():
            if column.column is None:
                known = before.by_role.get(name, TargetColumn(np.full(count, np.nan)))
                found[name] = TargetColumn(np.append(column.values, known.values[len(column.values) :]))
        return TargetColumns(found)

    @property
    def number(self) -> TargetColumn | None:
        """The column of numbers that a fit takes, of which there is one at most."""
        return self.of(PRIOR) or self.of(OWN_OFFSETS)


NO_COLUMNS = TargetColumns()


def offsets_each(
    fits: Sequence[Any], targets: Rows, columns: TargetColumns = NO_COLUMNS, advance: Advance = no_progress
) -> list[F32]:
    """Return the offsets (n,) of targets with these columns by each of some fits of one correction.

    Fits that took groups have `of_groups`; those that took a number of each target have `of_number`, the part of it.
    Raises `InputError` if they took no number, or without groups if they took these.
    """
    if (groups := columns.of(FIT_BY)) is not None:
        return [fit.of_groups(targets, groups.values, advance) for fit in fits]
    if hasattr(fits[0], "offsets_each"):
        found: list[F32] = fits[0].offsets_each(fits, targets, advance)
    else:
        found = [fit.offsets(targets, advance) for fit in fits]
    if (number := columns.number) is None:
        return found
    return [(h + fit.of_number(number.values)).astype(np.float32) for fit, h in zip(fits, found, strict=True)]
