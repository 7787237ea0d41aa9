"""Numbers of targets, such as how often each should be found: given, in a file or in a column."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.corrections.prior import PRIOR, NumberOfTarget, PriorLike, TargetPrior, as_prior, checked_prior
from hubless.errors import InputError, StorageError, names_of
from hubless.search.parts import prior_of
from hubless.vectors.files import Items
from hubless.vectors.readers.arrow_rows import reading_payload


def opened_prior(given: PriorLike, items: Items, kind: NumberOfTarget) -> tuple[TargetPrior, str | None]:
    """Return one number a target, and its payload column: that of this name, or other text is a file."""
    count = items.vectors.shape[0]
    payload = items.payload
    columns = list(items.payload_columns)
    if not isinstance(given, str) or given not in columns or payload is None:
        try:
            return as_prior(given, count, kind, ids=items.ids), None
        except StorageError as error:
            if not isinstance(given, str) or Path(given).suffix:
                raise
            known = f"or a payload column: {names_of(columns)}" if columns else "as there is no payload"
            raise InputError(kind.name, f"a file, {known}", given) from error
    with reading_payload():
        values = payload.to_table(columns=[given]).column(0)
    name = f"{kind.name} (payload column {given})"
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(name, "numbers", f"{values.type}")
    return checked_prior(values.to_numpy(), count, name, kind), given


def column_prior(
    column: str, payload: pa.Table | None, median: float | None = None, kind: NumberOfTarget = PRIOR
) -> TargetPrior:
    """Return the prior of a payload column. Targets whose column does not say count as the median of the others."""
    parameter = kind.name.replace(" ", "_")
    names = [] if payload is None else payload.column_names
    if payload is None or column not in names:
        raise InputError(parameter, f"a payload column: {', '.join(names) or 'there is none'}", column)
    of_column = payload.schema.field(column).type
    if not (pa.types.is_integer(of_column) or pa.types.is_floating(of_column)):
        raise InputError(f"{parameter} (payload column {column})", "numbers", f"{of_column}")
    values = prior_of(payload, column, kind)
    if median is None and np.isnan(values).all():
        raise InputError(f"{parameter} (payload column {column})", "a number of some target", "none")
    return TargetPrior(np.where(np.isnan(values), np.nanmedian(values) if median is None else median, values))
