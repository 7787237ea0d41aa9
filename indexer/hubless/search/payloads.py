"""The payload of hits: all columns, or those that a query asks for."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, UnknownField
from hubless.vectors.free_payload import is_free
from hubless.vectors.payload import PayloadRows

WithPayload = bool | Sequence[str]
"""True for all columns, False for none of it, or the names of some."""
Rows = Sequence[int] | NDArray[np.integer[Any]]


def taken(payload: PayloadRows | None, rows: Rows, columns: Sequence[str] | None = None) -> list[dict[str, Any] | None]:
    """Payload of some rows; None for each row if there is no payload."""
    return [None] * len(rows) if payload is None else [*payload.take(rows, columns)]


def taking(payload: PayloadRows | None, wanted: WithPayload) -> Callable[[Rows], list[dict[str, Any] | None]] | None:
    """A function that gives the payload of some rows; None if it is not wanted.

    Raises
    ------
    UnknownField
        for a column that the payload does not have, naming those that it has.
    InputError
        if it is neither a bool nor a list of names.
    """
    if isinstance(wanted, bool):
        return partial(taken, payload) if wanted else None
    listed = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    if not listed or not all(isinstance(name, str) for name in wanted):
        raise InputError("with_payload", "True, False, or a list of columns", repr(wanted))
    names = [] if payload is None else payload.schema.names
    free = payload is not None and is_free(payload.schema)
    for name in (name for name in wanted if not free and name not in names):
        known = f"columns of the payload, {', '.join(names)}" if names else "none, as there is no payload"
        raise UnknownField("with_payload", known, name)
    return partial(taken, payload, columns=list(wanted))
