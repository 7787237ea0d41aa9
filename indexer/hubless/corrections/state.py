"""The stored form of a fitted correction: plain arrays, and JSON for the manifest."""

from typing import Any, Protocol

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
