"""A query and its options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hubless_client.bodies import in_base64, wanted
from hubless_client.errors import CannotSend
from hubless_client.vectors import VectorLike, pack_one


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Options of a query. The server decides what is None.

    Attributes
    ----------
    limit : number of hits; the server's default is 10
    skip : number of the best hits to leave out
    strength : how much of the offset is applied: 1 is full, 0 is the raw ranking; None is that of the
        collection, usually 1, and 0 with an id
    with_payload, with_vector : whether the hits bring them; of payload also the names of some columns
    score_threshold : leave out hits with a lower score
    params : search parameters of the collection's index
    filter : which targets to search
    group_by : a payload column: only the best hit of each of its values
    diversity : how much hits are to differ from those before them; 0 keeps the ranking, 1 is the most
    min_confidence, min_presence : the query gets no hits if its best hit is less likely right, or a right target is
        less likely there; 0 to 1
    min_accuracy : the query gets hits only where this share, at least, is right at first, by the labels of the
        collection; 0 to 0.99
    explain : whether the hits bring an explanation
    """

    limit: int | None = None
    skip: int | None = None
    strength: float | None = None
    with_payload: bool | Sequence[str] = False
    with_vector: bool = False
    score_threshold: float | None = None
    params: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None
    group_by: str | None = None
    diversity: float | None = None
    min_confidence: float | None = None
    min_presence: float | None = None
    min_accuracy: float | None = None
    explain: bool = False

    def as_members(self) -> dict[str, Any]:
        """The options that are set, as members of a JSON object."""
        named = {
            "limit": self.limit,
            "skip": self.skip,
            "strength": self.strength,
            "with": wanted(self.with_payload, self.with_vector) or None,
            "score_threshold": self.score_threshold,
            "params": self.params,
            "filter": self.filter,
            "group_by": self.group_by,
            "diversity": self.diversity,
            "min_confidence": self.min_confidence,
            "min_presence": self.min_presence,
            "min_accuracy": self.min_accuracy,
            "explain": True if self.explain else None,
        }
        return {name: value for name, value in named.items() if value is not None}

    def as_url_params(self) -> dict[str, Any] | None:
        """The options that are set, as URL parameters. None if a URL cannot carry them."""
        members = self.as_members()
        if "params" in members or "filter" in members:
            return None
        extras = members.get("with", [])
        if any("," in extra for extra in extras):
            return None
        if self.explain:
            members["explain"] = "true"
        return members | ({"with": ",".join(extras)} if extras else {})


@dataclass(frozen=True)
class Query(QueryOptions):
    """A vector, shape (d,), a text or the id of a target, and how to search. `QueryOptions` has the other attributes.

    Raises
    ------
    CannotSend : none of the three is given, or more than one
    """

    vector: VectorLike | None = None
    text: str | None = None
    id: str | int | None = None

    def __post_init__(self) -> None:
        given = {"vector": self.vector, "text": self.text, "id": self.id}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            got = " and ".join(names) or "none of them"
            raise CannotSend(f"query: expected either a vector, a text or an id, got {got}")

    def as_document(self) -> dict[str, Any]:
        """The query as a JSON object, its vector in base64."""
        vector = None if self.vector is None else in_base64(pack_one(self.vector))
        given = {"vector": vector, "text": self.text, "id": self.id}
        return {**{name: value for name, value in given.items() if value is not None}, **self.as_members()}
