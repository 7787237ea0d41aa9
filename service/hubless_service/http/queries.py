"""Queries as the search takes them, from the requests that say them."""

from typing import Any, NamedTuple

from hubless.errors import InputError
from hubless.filters import Filter
from hubless.vectors.arrays import F32
from hubless_service.http.requests import BatchRequest, QueryRequest
from hubless_service.http.values import NO_EXTRAS, Extras, Subject
from hubless_service.settings import Settings

_CANDIDATES = 10
"""Targets that are ranked for a hit where hits are chosen among them, about."""


class LikeTarget(NamedTuple):
    """A stored target: the query asks for targets like it."""

    id: str | int


class Query(NamedTuple):
    """One query, however it was sent.

    Attributes
    ----------
    where : what stands before a field's name in an error: nothing, or `queries[3].`
    asked : a vector (1, d), prepared for the collection; a text; or a stored target
    strength : None leaves it to the library
    min_seq : a write that what is searched must have
    """

    where: str
    asked: F32 | str | LikeTarget
    limit: int
    skip: int
    strength: float | None
    score_threshold: float | None
    timeout_ms: int
    extras: Extras
    explain: bool
    filter: Filter | None
    parameters: dict[str, Any] | None
    group_by: str | None = None
    diversity: float = 0.0
    min_confidence: float = 0.0
    min_presence: float = 0.0
    min_seq: int = 0

    @property
    def is_chosen(self) -> bool:
        """Return True if the hits are not the best of the ranking, one after the other."""
        return self.group_by is not None or self.diversity > 0


def query_of(sent: QueryRequest, settings: Settings, where: str = "") -> Query:
    """Return the query of a request, or of a part of one.

    Raises
    ------
    InputError
        if it asks for several things or for nothing, or skips too many.
    """
    stored = None if sent.id is None else LikeTarget(sent.id)
    given = [asked for asked in (sent.vector, sent.text, stored) if asked is not None]
    if len(given) != 1:
        names = [name for name in ("vector", "text", "id") if getattr(sent, name) is not None]
        raise InputError(f"{where}vector", "either a vector, a text or an id", " and ".join(names) or "none of them")
    limit, skip = settings.default_limit if sent.limit is None else sent.limit, sent.skip or 0
    deepest = max(settings.max_depth - limit, 0)
    if skip > deepest:
        raise InputError(f"{where}skip", f"a whole number from 0 to {deepest} beside this limit", str(skip))
    if sent.diversity and sent.score_threshold is not None:
        raise InputError(f"{where}score_threshold", "none beside diversity, which orders hits anew", "one")
    return Query(
        where,
        given[0],
        limit,
        skip,
        sent.strength,
        sent.score_threshold,
        sent.timeout_ms or settings.default_timeout_ms,
        sent.with_ or NO_EXTRAS,
        bool(sent.explain),
        sent.filter,
        sent.params,
        sent.group_by,
        sent.diversity or 0.0,
        sent.min_confidence or 0.0,
        sent.min_presence or 0.0,
        sent.min_seq or 0,
    )


def queries_of(sent: BatchRequest, subject: Subject) -> list[Query]:
    """Return the queries of a batch.

    Raises
    ------
    InputError
        also if all of them together ask for too much.
    """
    settings = subject.settings
    queries = [query_of(query, settings, f"queries[{i}].") for i, query in enumerate(sent.queries)]
    hits = sum((query.skip + query.limit) * (_CANDIDATES if query.is_chosen else 1) for query in queries)
    if hits > settings.max_batch_hits:
        expected = f"limits and skips that add up to at most {settings.max_batch_hits}"
        raise InputError(sent.field, expected, str(hits))
    numbers = sum(query.limit for query in queries if query.extras.vector) * subject.collection.dim
    if numbers > settings.max_batch_numbers:
        expected = f"hits with vectors of at most {settings.max_batch_numbers} numbers in all"
        raise InputError(sent.field, expected, str(numbers))
    return queries
