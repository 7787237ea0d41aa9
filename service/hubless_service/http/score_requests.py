"""Models of requests about corrections of scores: what one is made of, and lists to correct and fuse."""

from math import isfinite
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
from pydantic import PrivateAttr, WithJsonSchema, model_validator

from hubless.errors import InputError, UnknownField, names_of
from hubless.measures.confidence.cut import Cut
from hubless.measures.plain_ids import hit_like, plain_ids
from hubless.scores.logged_lists import ScoreLists
from hubless.scores.reading import read_lists
from hubless.scores.score_correction import KEY, ScoreCorrection
from hubless.search.collection import MOST_STRENGTH
from hubless.search.kept_scores.learned_lists import PutLists
from hubless.vectors.arrays import is_list, is_text
from hubless_service.http.arrow import ARROW, ARROW_FILE, read_table
from hubless_service.http.problems import clip, describe
from hubless_service.http.requests import (
    JSON,
    PARTS_OF_REQUESTS,
    Clients,
    Limit,
    Milliseconds,
    RequestModel,
    Text,
    examples,
    maybe,
    read,
)
from hubless_service.http.values import (
    IMAGE_BASE64,
    Checked,
    Json,
    Several,
    Share,
    Subject,
    check_list,
    numbers_of,
    refer,
)
from hubless_service.settings import Settings

MOST_HITS = 2_000_000
"""Hits of all lists that a correction is fitted on in a request: some seconds of work."""
MOST_WEIGHT = 1e6
_RELEVANT = "relevant"
_IDS = {"anyOf": [{"type": "array", "items": {"type": kind}} for kind in ("integer", "string")]}
_SCORES = {"type": "array", "items": {"type": "number"}}
_LABEL = {"anyOf": [{"type": "integer"}, {"type": "string"}, _IDS]}
_LARGEST_ID = 2**63


def _logged(**more: Json) -> Checked:
    """A list of objects with ids, scores and these fields; `read_lists` checks the rest."""
    fields = {"ids": _IDS, "scores": _SCORES, **more}
    item = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}

    def read(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            raise InputError("", "a list of at least one object with ids and scores", describe(value))
        for number, each in enumerate(value):
            if not isinstance(each, dict):
                raise InputError(f"[{number}]", "an object with ids and scores", describe(each))
            if unknown := each.keys() - fields.keys():
                raise UnknownField(f"[{number}].{clip(min(unknown))}", names_of(sorted(fields)), "an unknown field")
            if missing := fields.keys() - each.keys():
                raise InputError(f"[{number}].{min(missing)}", "one for each list", "none")
        return value

    return Checked(read, {"type": "array", "minItems": 1, "items": item})


LoggedLists = Annotated[list[Json], _logged()]
LabelledLists = Annotated[list[Json], _logged(relevant=_LABEL)]


class ScoresOptions(RequestModel):
    """Options of a correction of scores."""

    large = True
    distance: bool | None = None
    """Whether lower scores are better."""
    learn: bool | None = None
    """Whether it also learns from the lists that /v1/rerank corrects by it: a client counts for a tenth at most."""
    trusted: Clients | None = None
    """With learn: clients that ask for many people, and count without limit. Names of keys."""

    @model_validator(mode="after")
    def _check_trusted(self) -> Self:
        if self.trusted is not None and not self.learn:
            raise InputError("trusted", "none without learn", "some")
        return self


class PutScoresRequest(ScoresOptions):
    """Past answers of any search, to learn offsets from: ids and scores of the first hits of each query."""

    model_config = examples({"lists": [{"ids": ["a", "b"], "scores": [0.9, 0.5]}, {"ids": ["c"], "scores": [0.7]}]})
    kinds = (JSON, ARROW, ARROW_FILE)
    lists: LoggedLists
    """One of each query; 1,000 with 50 hits each are enough. At most 2,000,000 hits."""
    labelled: LabelledLists | None = None
    """Other lists with the ids of the right items, 20 at least, better 200: they make confidence a probability."""
    _sent: ScoreLists | ScoreCorrection = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._sent = read_lists(self.lists, distance=bool(self.distance))
        like = hit_like(self._sent.ids[0].as_py())
        for number, each in enumerate(self.labelled or ()):
            for name in ("ids", _RELEVANT):
                plain_ids(each[name], *like, f"labelled[{number}].{name}")
        if self.labelled:
            read_lists(self.labelled, distance=bool(self.distance), name="labelled")
        return self

    def correction(self) -> ScoreCorrection:
        """Return the correction: the one that came, or one that is fitted on the lists, which takes seconds."""
        if isinstance(self._sent, ScoreCorrection):
            return self._sent
        fitted = ScoreCorrection.of(self._sent, distance=bool(self.distance))
        if self.labelled:
            fitted = fitted.calibrate(self.labelled, [each[_RELEVANT] for each in self.labelled])
        return fitted

    def learns_from(self) -> PutLists | None:
        """Return what it goes on to learn from; None if it does not."""
        if not self.learn or isinstance(self._sent, ScoreCorrection):
            return None
        return PutLists(self._sent, bool(self.distance), self.labelled or (), self.trusted or ())

    @classmethod
    def of_bytes(cls, kind: str, body: bytes, url: Json, subject: Subject) -> Self:
        """Read an Arrow stream or file: lists, or a correction that the command or the library wrote."""
        options = read(ScoresOptions, url, subject)
        made = cls.model_construct(lists=[], **dict(options))
        table = read_table(body, kind)
        _check_types(table)
        if KEY not in (table.schema.metadata or {}):
            made._sent = read_lists(table, distance=bool(options.distance), name="body")
            return made
        if options.distance is not None:
            raise InputError(
                "distance", "none beside a correction, which says it itself", str(options.distance).lower()
            )
        if options.learn:
            raise InputError("learn", "lists beside it, which go on to count", "a correction")
        made._sent = ScoreCorrection.of_table(table, "body")
        ids = made._sent.ids
        if len(ids.unique()) < len(ids):
            raise InputError("body.id", "each item once", "some twice")
        return made


_KNOWN = {
    **dict.fromkeys(("id", "ids", "query"), ((pa.types.is_integer, is_text), "whole numbers or strings")),
    **dict.fromkeys(("score", "scores", "offset"), ((pa.types.is_integer, pa.types.is_floating), "numbers")),
}


def _check_types(table: pa.Table) -> None:
    """Refuse columns of other types: some say in a few bytes what takes gigabytes in memory."""
    names = table.column_names
    if len({*names}) < len(names) or not {*names} <= _KNOWN.keys():
        expected = "ids and scores of lists; query, id and score with a row a hit; or id and offset of a correction"
        raise InputError("body", f"the columns {expected}", names_of([clip(name) for name in names]))
    for name in names:
        column, (kinds, expected) = table.column(name), _KNOWN[name]
        kind = column.type
        count = len(column)
        if name.endswith("s"):
            if not is_list(kind):
                raise InputError(f"body.{name}", f"a column of lists of {expected}", clip(str(kind)))
            kind = kind.value_type
            count = sum(len(chunk.values) for chunk in column.chunks)
        if not any(fits(kind) for fits in kinds):
            raise InputError(f"body.{name}", f"a column of {expected}", clip(str(kind)))
        if count > MOST_HITS:
            raise InputError(f"body.{name}", f"at most {MOST_HITS} hits", count)


def _ids(value: Any) -> Any:
    most = Settings.max_limit
    check_list(value, "a list of ids")
    if len(value) > most:
        raise InputError("", f"at most {most} ids", len(value))
    kinds = {*map(type, value)}
    if kinds - {str} and (kinds != {int} or not -_LARGEST_ID <= min(value) <= max(value) < _LARGEST_ID):
        for place, each in enumerate(value):
            if type(each) not in (int, str) or (type(each) is int and not -_LARGEST_ID <= each < _LARGEST_ID):
                raise InputError(f"[{place}]", "a string, or a whole number of 64 bits", describe(each))
    if len({*value}) < len(value):
        twice = next(place for place, each in enumerate(value) if each in value[:place])
        raise InputError(f"[{twice}]", "each item once in a list", f"{describe(value[twice])} twice")
    return value


def _numbers(value: Any) -> list[float]:
    check_list(value, "a list of numbers")
    found = numbers_of(value)
    if not (isfinite(sum(found)) or all(map(isfinite, found))):
        place = next(place for place, each in enumerate(found) if not isfinite(each))
        raise InputError(f"[{place}]", "a finite number", describe(value[place]))
    return found


def _cut(value: Any) -> Cut:
    try:
        return Cut.from_json(value)
    except InputError as error:
        raise error.about("") from error
    except (OverflowError, TypeError) as error:
        raise InputError("", "the JSON of a hubless.Cut", describe(value)) from error


_CUT = {"type": "object", "additionalProperties": True, "description": "The JSON of a `hubless.Cut`."}
_QUERY = ("vector", "text", "image", "id", "filter", "params", "limit", "with_")
"""Fields of a list that are those of a query."""
_OF_LIST = ("ids", "scores", "correction", "distance")
"""Fields of a list that comes with the request."""


class ListToRerank(RequestModel):
    """A list of any search, or a query to a collection, whose hits are corrected by the collection itself."""

    ids: Annotated[list[int | str], Checked(_ids, _IDS)] | None = None
    """Of the hits, at most 1,000; ask the search for 50."""
    scores: Annotated[list[float], Checked(_numbers, _SCORES)] | None = None
    """As many scores."""
    correction: Text | None = None
    """The name of a correction of scores; without it the scores stay as they are."""
    distance: bool | None = None
    """Of a list without correction: whether lower scores are better."""
    strength: float | None = maybe("How much of the offsets is applied; 1 if not given.", ge=0, le=MOST_STRENGTH)
    weight: float | None = maybe("Of the list in the sum; 1 if not given.", ge=0, le=MOST_WEIGHT)
    collection: Text | None = None
    """In place of ids and scores: a collection to search."""
    vector: Annotated[Any, WithJsonSchema(refer("QueryVector"))] | None = None
    """With collection: a vector, as long as its dim."""
    text: Text | None = None
    """With collection: a text, if it has an encoder."""
    image: Annotated[Any, WithJsonSchema(IMAGE_BASE64)] | None = None
    """With collection: a picture, if its encoder takes pictures."""
    id: Annotated[Any, WithJsonSchema(refer("StoredId"))] | None = None
    """With collection: a stored target, to find more like it."""
    filter: Annotated[Any, WithJsonSchema(refer("Filter"))] | None = None
    """With collection: only targets that meet it are searched."""
    params: Json | None = None
    """With collection: search parameters of its index."""
    limit: Limit | None = None
    """With collection: how many of its hits are fused; 50 if not given."""
    with_: Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "string"}})] | None = None
    """With collection: payload, or payload.<column> for some columns, which its hits are sent with."""

    @property
    def query(self) -> Json:
        """The fields of a query to the collection that are given."""
        others = ("collection", "weight")
        return {name.removesuffix("_"): value for name, value in self if value is not None and name not in others}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.collection is None:
            self._refuse(_QUERY, "none without collection")
            self._check_list()
        else:
            self._refuse(_OF_LIST, "none beside collection, which is searched and corrects itself")
        return self

    def _refuse(self, names: tuple[str, ...], expected: str) -> None:
        """Raise `InputError` if one of some fields is given."""
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(name.removesuffix("_"), expected, "one")

    def _check_list(self) -> None:
        """Raise `InputError` unless there is a score for each id, and the options are for such a list."""
        if self.ids is None or self.scores is None:
            missing = "ids" if self.ids is None else "scores"
            raise InputError(missing, "ids and scores, or collection with a query", "none")
        if len(self.scores) != len(self.ids):
            raise InputError("scores", f"as many as ids, {len(self.ids)}", len(self.scores))
        if self.correction is None and self.strength is not None:
            raise InputError("strength", "none without correction", f"{self.strength:g}")
        if self.correction is not None and self.distance is not None:
            raise InputError("distance", "none beside correction, which says it itself", str(self.distance).lower())


class RerankRequest(RequestModel):
    """Lists of one query, each to be corrected by its own correction, and then to be fused."""

    model_config = examples({"lists": [{"ids": ["a", "b"], "scores": [9.5, 7.25]}], "limit": 10})
    lists: Annotated[list[ListToRerank], Several("lists", Settings.max_lists)]
    """At most 10."""
    fusion: Literal["min_max", "z", "rrf"] | None = maybe(
        "How corrected scores become parts of a sum: min_max, the default, from 0 to 1 in each list; z in standard "
        "deviations above its last; rrf 1/(60 + rank). Equal scores of a list count 1 each. Of one list: its corrected "
        "scores if not given."
    )
    limit: Limit | None = None
    """How many hits at most; 10 if not given."""
    cut: Annotated[Cut, Checked(_cut, _CUT)] | None = maybe(
        "Tells confidence from the scores of the answer: the JSON of a hubless.Cut, fitted on past answers. One list "
        "has that of its correction."
    )
    min_accuracy: Share | None = None
    """There are hits only where this share, at least, is right at first, by the labels that calibrated the cut."""
    timeout_ms: Milliseconds | None = None
    """Milliseconds to answer or refuse; HUBLESS_DEFAULT_TIMEOUT_MS if not given."""


PARTS_OF_REQUESTS[RerankRequest] = ("lists", ListToRerank)
