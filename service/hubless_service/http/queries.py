"""Queries as the search takes them, from the requests that say them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless_service.http.requests import BatchRequest, QueryRequest
from hubless_service.http.values import NO_EXTRAS, Extras, Subject
from hubless_service.settings import Settings

_CANDIDATES = 10
"""Targets that are ranked for a hit where hits are chosen among them, about."""


class LikeTarget(NamedTuple):
    """A stored target: the query asks for targets like it."""

    id: str | int


@dataclass(slots=True, kw_only=True)
class Query:
    """One query, however it was sent.

    Attributes
    ----------
    where : what stands before a field's name in an error: nothing, or `queries[3].`
    asked : a vector (1, d), prepared for the collection; a text; or a stored target
    options : those of `Collection.query` that are not the default, in a fixed order, and always the limit
    min_seq : a write that what is searched must have
    """

    where: str
    asked: F32 | str | LikeTarget
    options: dict[str, Any]
    extras: Extras
    score_threshold: float | None
    timeout_ms: int
    min_seq: int

    @property
    def depth(self) -> int:
        """The number of hits, with those that are skipped."""
        depth: int = self.options["limit"] + self.options.get("skip", 0)
        return depth


def query_of(sent: QueryRequest, settings: Settings, where: str = "") -> Query:
    """Return the query of a request, or of a part of one."""
    asked: F32 | str | LikeTarget | None = sent.vector if sent.vector is not None else sent.text
    if sent.id is not None:
        asked = LikeTarget(sent.id)
    if asked is None or (sent.vector is not None) + (sent.text is not None) + (sent.id is not None) > 1:
        names = [name for name in ("vector", "text", "id") if getattr(sent, name) is not None]
        raise InputError(f"{where}vector", "either a vector, a text or an id", " and ".join(names) or "none of them")
    limit = settings.default_limit if sent.limit is None else sent.limit
    options: dict[str, Any] = {"limit": limit}
    if sent.strength is not None:
        options["strength"] = sent.strength
    if sent.params:
        options["parameters"] = sent.params
    if sent.filter is not None:
        options["filter"] = sent.filter
    if sent.skip:
        deepest = max(settings.max_depth - limit, 0)
        if sent.skip > deepest:
            raise InputError(f"{where}skip", f"a whole number from 0 to {deepest} beside this limit", str(sent.skip))
        options["skip"] = sent.skip
    if sent.explain:
        options["explain"] = True
    if sent.group_by is not None:
        options["group_by"] = sent.group_by
    if sent.diversity:
        if sent.score_threshold is not None:
            raise InputError(f"{where}score_threshold", "none beside diversity, which orders hits anew", "one")
        options["diversity"] = sent.diversity
    if sent.min_confidence:
        options["min_confidence"] = sent.min_confidence
    if sent.min_presence:
        options["min_presence"] = sent.min_presence
    return Query(
        where=where,
        asked=asked,
        options=options,
        extras=sent.with_ or NO_EXTRAS,
        score_threshold=sent.score_threshold,
        timeout_ms=sent.timeout_ms or settings.default_timeout_ms,
        min_seq=sent.min_seq or 0,
    )


def queries_of(sent: BatchRequest, subject: Subject) -> list[Query]:
    """Return the queries of a batch."""
    settings = subject.settings
    queries = [query_of(query, settings, f"queries[{i}].") for i, query in enumerate(sent.queries)]
    chosen = {"group_by", "diversity"}
    hits = sum(query.depth * (1 if chosen.isdisjoint(query.options) else _CANDIDATES) for query in queries)
    if hits > settings.max_batch_hits:
        expected = f"limits and skips that add up to at most {settings.max_batch_hits}"
        raise InputError(sent.field, expected, str(hits))
    numbers = sum(query.options["limit"] for query in queries if query.extras.vector) * subject.collection.dim
    if numbers > settings.max_batch_numbers:
        expected = f"hits with vectors of at most {settings.max_batch_numbers} numbers in all"
        raise InputError(sent.field, expected, str(numbers))
    return queries
