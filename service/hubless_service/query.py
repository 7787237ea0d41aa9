"""One query as the search wants it, however it was sent."""

from dataclasses import dataclass
from typing import Any

from hubless.arrays import F32


@dataclass(frozen=True, slots=True)
class Query:
    """A vector of the collection's dimension or a text, and how to answer."""

    where: str  # before a field's name in an error: "" or "queries[3]."
    asked: F32 | str
    limit: int
    strength: float
    score_threshold: float | None
    parameters: dict[str, Any]
    with_payload: bool
    with_vector: bool
