"""Hits of a query. A field that a newer server adds is ignored; a field that is missing makes a `BadAnswer`."""

from array import array
from dataclasses import dataclass
from typing import Any, Self

from hubless_client.call import Json
from hubless_client.listing import Listing
from hubless_client.records import Record
from hubless_client.tables import Line, hits_table

_QUERIES = 5
"""Queries of a batch that a notebook shows at most."""


@dataclass(frozen=True, slots=True)
class Explanation(Record):
    """Why a hit has its rank.

    Attributes
    ----------
    rank : its rank, from 1
    raw_rank : its rank by similarity alone; None if it is deeper than the server looked
    occurrence, raw_occurrence : N_10, with the correction and without: how many queries had the target in their top 10
        when the version was measured; None if the version does not store it
    strength : how much of the offset was applied; None if the server is too old to say
    """

    rank: int
    raw_rank: int | None
    occurrence: int | None
    raw_occurrence: int | None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Hit(Record):
    """One target that was found.

    Attributes
    ----------
    id : as given to the build
    score : similarity − strength·offset; hits are sorted by it
    similarity : query·target, the cosine with metric "cosine", −½|q − t|² with "euclidean"
    offset : the target's hubness in units of similarity, positive = hub
    payload : None unless you ask for it
    vector : float32, shape (d,); None unless you ask for it; numpy reads it without copying
    explanation : None unless you ask for it
    share : its part of the confidence, 0 to 1, all of it for the best hit; None without a model of confidence
    """

    id: str | int
    score: float
    similarity: float
    offset: float
    payload: dict[str, Any] | None = None
    vector: "array[float] | None" = None
    explanation: Explanation | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits(Listing[Hit]):
    """The hits of one query, best first: `limit` of them, or fewer if the collection has fewer matches.

    Attributes
    ----------
    items, collection, version, request_id : as in every `Listing`
    corrected : whether a gated correction was on for this query; None for other corrections
    confidence : how likely the best hit is right, 0 to 1; None if the version has no model of it
    presence : how likely a right target is among those that were searched, 0 to 1; None likewise
    calibrated : whether these are probabilities; if not, they put answers in order
    answered : False if `min_confidence`, `min_presence` or `min_accuracy` left out all hits
    """

    corrected: bool | None = None
    confidence: float | None = None
    presence: float | None = None
    calibrated: bool = False
    answered: bool = True

    def _repr_html_(self) -> str:
        """The first hits as a table: notebooks show it."""
        explained = any(hit.explanation for hit in self.items)
        return hits_table([_line(hit) for hit in self.items], f"{self.collection} {self.version}", explained)

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read the answer to a query."""
        return cls._of(body, body["collection"], body["version"], request_id)

    @classmethod
    def _of(cls, result: Json, collection: str, version: str, request_id: str | None) -> Self:
        hits = tuple(Hit.from_json(hit) for hit in result["hits"])
        sent = ("corrected", "confidence", "presence", "calibrated", "answered")
        more = {name: result[name] for name in sent if name in result}
        return cls(items=hits, collection=collection, version=version, request_id=request_id, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHits(Listing[Hits]):
    """The `Hits` of each query, in the order of the queries."""

    def _repr_html_(self) -> str:
        """The hits of the first queries as tables: notebooks show them."""
        more = f"<p>{len(self) - _QUERIES} more queries</p>" if len(self) > _QUERIES else ""
        return f"<div>{''.join(hits._repr_html_() for hits in self.items[:_QUERIES])}{more}</div>"

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read the answer to a batch."""
        collection, version = body["collection"], body["version"]
        hits = tuple(Hits._of(result, collection, version, request_id) for result in body["results"])
        return cls(items=hits, collection=collection, version=version, request_id=request_id)


def _line(hit: Hit) -> Line:
    raw_rank = hit.explanation.raw_rank if hit.explanation else None
    return Line(hit.id, hit.score, hit.similarity, hit.offset, raw_rank, hit.payload)
