"""The stored form of a fitted correction: plain arrays, and JSON for the manifest."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]
Details = dict[str, Any]


class _Fitted(Protocol):
    @property
    def details(self) -> Details: ...


def in_a_line(fitted: _Fitted) -> str:
    """The `repr` of a fitted correction: its name and the plain numbers among its details, no arrays."""
    shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in fitted.details.items()}
    plain = [f"{key}={value}" for key, value in shown.items() if key not in ("why", "error")]
    return f"{type(fitted).__name__}({', '.join(plain)})"


class StoredFields:
    """The query-time part of a correction: arrays are stored, plain numbers are details of the correction.

    The bank stands in the state of the fitted correction already.
    """

    def arrays(self) -> State:
        """Return everything that `from_arrays` needs beside the fitted correction, as plain arrays."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray) and name != "bank"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], details: Details) -> Self:
        """Restore what `arrays` gave; the fitted correction's state is among the arrays, and has its details."""
        known = {**details, **arrays}
        return cls(**{each.name: known[each.name] for each in fields(cls) if each.name in known})  # type: ignore[arg-type]
