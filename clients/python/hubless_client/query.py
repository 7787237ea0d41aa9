"""A query and its options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias, TypedDict, Unpack

from hubless_client.bodies import content_of, wanted
from hubless_client.errors import CannotSend
from hubless_client.values import given
from hubless_client.vectors import VectorLike, in_base64, pack_one

Image: TypeAlias = bytes | str | PathLike[str]
"""A picture as JPEG, PNG, WebP or GIF: its bytes, or the path of its file."""


class QueryOptions(TypedDict, total=False):
    """Options of a query: this is the one list of them. The server decides what is not given, or None.

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
    coverage : as many hits as it takes to hold a right one in this share of queries, `limit` at most, by the same
        labels; 0 to 1
    explain : whether the hits bring an explanation: their raw rank, and how often their target is found
    min_seq : the `seq` of a write that what is searched must have
    """

    limit: int | None
    skip: int | None
    strength: float | None
    with_payload: bool | Sequence[str]
    with_vector: bool
    score_threshold: float | None
    params: Mapping[str, Any] | None
    filter: Mapping[str, Any] | None
    group_by: str | None
    diversity: float | None
    min_confidence: float | None
    min_presence: float | None
    min_accuracy: float | None
    coverage: float | None
    explain: bool
    min_seq: int | None


def in_body(options: QueryOptions) -> dict[str, Any]:
    """Options that are set, as members of a JSON object. Raises `TypeError` naming one that there is not."""
    if unknown := options.keys() - QueryOptions.__annotations__.keys():
        raise TypeError(f"query: unexpected option {min(unknown)!r}; known: {', '.join(QueryOptions.__annotations__)}")
    members = {name: value for name, value in given(options).items() if value is not False}
    extras = wanted(members.pop("with_payload", False), members.pop("with_vector", False))
    return members | ({"with": extras} if extras else {})


def in_url(options: QueryOptions) -> dict[str, Any] | None:
    """Options that are set, as URL parameters. None if a URL cannot carry them."""
    members = in_body(options)
    extras = members.get("with", [])
    if "params" in members or "filter" in members or any("," in extra for extra in extras):
        return None
    changed = {"explain": "true", "with": ",".join(extras)}
    return {name: changed.get(name, value) for name, value in members.items()}


@dataclass(frozen=True, init=False)
class Query:
    """A vector, shape (d,), a text, an image or the id of a target, and how to search.

    `options` are those of `QueryOptions`.

    Raises
    ------
    CannotSend : none of the four is given, or more than one; there is no such file of an image
    """

    vector: VectorLike | None
    text: str | None
    id: str | int | None
    image: Image | None
    options: QueryOptions

    def __init__(
        self,
        vector: VectorLike | None = None,
        text: str | None = None,
        id: str | int | None = None,
        image: Image | None = None,
        **options: Unpack[QueryOptions],
    ) -> None:
        asked = {"vector": vector, "text": text, "image": image, "id": id}
        names = [name for name, value in asked.items() if value is not None]
        if len(names) != 1:
            got = " and ".join(names) or "none of them"
            raise CannotSend(f"query: expected one of vector, text, image and id, got {got}")
        in_body(options)  # refuses what is no option
        for name, value in {**asked, "options": options}.items():
            object.__setattr__(self, name, value)

    def as_document(self) -> dict[str, Any]:
        """The query as a JSON object, its vector or image in base64."""
        vector = None if self.vector is None else in_base64(pack_one(self.vector))
        image = None if self.image is None else in_base64(content_of("image", self.image))
        asked = {"vector": vector, "text": self.text, "image": image, "id": self.id}
        return given(asked) | in_body(self.options)
