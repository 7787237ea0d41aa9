"""The columns of targets that are stored or written, by role: a payload column says so, or it is kept apart."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections.roles import TARGET_ROLES, TargetRole, group_names
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.errors import InputError, names_of
from hubless.store.bundle import Roles


def columns_of(roles: Roles, payload: pa.Table | None, kept: TargetColumns = NO_COLUMNS) -> TargetColumns:
    """Return the columns of n targets: of their payload (n rows), or those that are `kept` apart from it, if any are.

    Raises `InputError` naming a payload column that is not there or of another type, or if it says of none and there
    is no usual number.
    """
    found = NO_COLUMNS
    for name, (column, usual) in roles.items():
        role = TARGET_ROLES[name]
        if column is None and name not in kept.by_role:
            continue
        values = kept.by_role[name].values if column is None else in_payload(role, payload, column)
        if role.above is not None and usual is None and np.isnan(values).all():
            raise InputError(f"{role.name} (payload column {column})", "a number of some target", "none")
        found = found.beside(role, TargetColumn(values, usual, column))
    return found


def in_payload(
    role: TargetRole, payload: pa.Table | None, column: str, name: str = "payload", *, complete: bool = False
) -> NDArray[Any]:
    """Return what a payload column (n,) says of each target, and what is unknown where it is nothing of the role.

    Numbers that are to be `complete` have to be there for each. Raises `InputError` for another kind of column, or
    none.
    """
    if role.above is None:
        return group_names(payload, column, name)
    if payload is None or column not in payload.column_names:
        known = "there is none" if payload is None else names_of(payload.column_names)
        raise InputError(role.name, f"a payload column: {known}", column)
    name = f"{role.name} (payload column {column})"
    values = payload.column(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(name, "numbers", f"{values.type}")
    if complete:
        return role.checked(values.to_numpy(), len(payload), name)
    numbers = values.to_numpy().astype(np.float64)
    return np.where(role.holds(numbers), numbers, np.nan)
