"""Lists of any search: corrections that are learned from its log, and one list made of several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hubless_client.bodies import content_of, in_json, listed
from hubless_client.call import Call, Content, Json, Timeout, nothing
from hubless_client.errors import CannotSend
from hubless_client.paths import RERANK, SCORES, of_scores
from hubless_client.records import Record
from hubless_client.sending import ClientMethod
from hubless_client.values import given

_ARROW_FILE = "application/vnd.apache.arrow.file"
_LOGGED, _LABELLED = ("ids", "scores"), ("ids", "scores", "relevant")


@dataclass(frozen=True, slots=True)
class ScoresInfo(Record):
    """A correction of scores that the server keeps.

    Attributes
    ----------
    name : of the correction
    items : how many items have an offset; all others have the smallest
    distance : whether lower scores are better
    details : how it came about, such as `lists`, `distinct` and `temperature`
    pairs : labels that calibrated confidence; 0 if it only orders answers, None without any
    accuracies : values of `min_accuracy` that some answers reach
    learning : lists that it keeps of those it was asked; None if it does not learn
    counted : how many of these count, and clients (`queries`, `clients`, `clients_needed`); None likewise
    held_back : ids of items that few clients lift alone, or whose offset stands alone
    """

    name: str
    items: int
    distance: bool
    details: Mapping[str, float]
    pairs: int | None
    accuracies: Sequence[float]
    learning: int | None = None
    counted: Mapping[str, int] | None = None
    held_back: Sequence[int | str] = ()

    @classmethod
    def list_from_json(cls, body: Json, _request_id: str | None) -> list[Self]:
        """Read the answer about all corrections."""
        return [cls.from_json(entry) for entry in body["scores"]]


@dataclass(frozen=True, slots=True)
class RerankedHit(Record):
    """An item of some lists.

    Attributes
    ----------
    id : as in the lists
    score : the sum of its parts
    parts : what each list adds to the score; 0 where it does not have the item
    payload : of the first list that has the item and was asked for it; None if none was
    """

    id: str | int
    score: float
    parts: tuple[float, ...]
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reranked(Record):
    """The hits of all lists, best first.

    Attributes
    ----------
    hits : the hits
    answered : False if `min_accuracy` left out all of them
    confidence : how likely the best hit is right, 0 to 1; None without a cut
    calibrated : whether this is a probability; None likewise
    unknown : of each list, how many ids its correction does not know; if it knows none, nothing was corrected
    request_id : of the request
    """

    hits: tuple[RerankedHit, ...]
    answered: bool
    confidence: float | None = None
    calibrated: bool | None = None
    unknown: tuple[int, ...] = ()
    request_id: str | None = None


class ScoreMethods:
    """Corrections of scores, and reranking by them."""

    @ClientMethod
    def all_scores(self, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[list[ScoresInfo]]:
        """All corrections of scores that your key may see."""
        return Call("GET", SCORES, ScoresInfo.list_from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def scores(self, name: str, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[ScoresInfo]:
        """A correction of scores, and what it was learned from."""
        return Call("GET", of_scores(name), ScoresInfo.from_json, request_id=request_id, timeout=timeout)

    @ClientMethod
    def put_scores(
        self,
        name: str,
        lists: Iterable[Any] | None = None,
        *,
        labelled: Iterable[Any] | None = None,
        file: str | Path | None = None,
        distance: bool | None = None,
        learn: bool | None = None,
        trusted: Sequence[str] | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[ScoresInfo]:
        """Keep a correction of scores, and replace that of the same name. Needs a key of role admin.

        Parameters
        ----------
        name : of the correction
        lists : of each past query ids and scores of its first hits: pairs, or mappings with `ids` and `scores`; 1,000
            with 50 hits each are enough
        labelled : of other queries ids, scores and the right ids; 20 at least, better 200. They make confidence a
            probability
        file : instead of lists, what `hubless log --output NAME.arrow` wrote
        distance : whether lower scores are better
        learn : whether it also learns from the lists that `rerank` is asked to correct by it
        trusted : with `learn`, names of keys that ask for many people; any other counts for a tenth at most
        request_id, timeout : as in every call
        """
        if (lists is None) == (file is None):
            raise CannotSend(f"put_scores: expected either lists or file, got {'neither' if file is None else 'both'}")
        if file is not None:
            if any(each is not None for each in (labelled, distance, learn, trusted)):
                raise CannotSend("put_scores: expected no other option beside file, which is fitted already")
            content = Content(body=content_of("file", file), media_type=_ARROW_FILE)
        else:
            options = {
                "lists": _named("lists", lists, _LOGGED),
                "labelled": _named("labelled", labelled, _LABELLED),
                "distance": distance,
                "learn": learn,
                "trusted": None if trusted is None else listed("trusted", trusted),
            }
            content = in_json(given(options))
        path = of_scores(name)
        return Call("PUT", path, ScoresInfo.from_json, content, request_id=request_id, timeout=timeout, repeats=False)

    @ClientMethod
    def delete_scores(self, name: str, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[None]:
        """Delete a correction of scores. Needs a key of role admin."""
        return Call("DELETE", of_scores(name), nothing, request_id=request_id, timeout=timeout, repeats=False)

    @ClientMethod
    def rerank(
        self,
        lists: Iterable[Mapping[str, Any]],
        *,
        limit: int | None = None,
        fusion: str | None = None,
        cut: Mapping[str, Any] | None = None,
        min_accuracy: float | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Reranked]:
        """Correct lists of one query, each by its own correction, and make one list of them.

        Parameters
        ----------
        lists : each with `ids` and `scores`, and perhaps `correction`, a name; or a query to a collection, with
            `collection` and `vector`, `text` or `id`, whose hits have their payload by `"with": ["payload"]`. `weight`
            is that of a list in the sum
        limit : number of hits; 10 if None
        fusion : how corrected scores become parts of a sum: "min_max", the default, "z" or "rrf"
        cut : tells confidence from the scores of the answer: what `hubless.Cut.as_json` gives. One list has that of
            its correction
        min_accuracy : hits come only where this share, at least, is right at first, by the labels of the cut
        request_id, timeout : as in every call
        """
        options = {"limit": limit, "fusion": fusion, "cut": cut, "min_accuracy": min_accuracy}
        content = in_json({"lists": [dict(each) for each in listed("lists", lists)], **given(options)})
        return Call("POST", RERANK, Reranked.from_json, content, request_id=request_id, timeout=timeout)


def _named(parameter: str, lists: Iterable[Any] | None, fields: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return lists with the names of their fields."""
    if lists is None:
        return None
    return [_fields(f"{parameter}[{place}]", each, fields) for place, each in enumerate(listed(parameter, lists))]


def _fields(place: str, each: Any, fields: Sequence[str]) -> dict[str, Any]:
    if isinstance(each, Mapping):
        return dict(each)
    values = listed(place, each)
    if len(values) != len(fields):
        raise CannotSend(f"{place}: expected {', '.join(fields)}, got {len(values)} values")
    return dict(zip(fields, values, strict=True))
