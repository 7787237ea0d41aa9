"""The JSON of answers about corrections of scores, and of reranked lists."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from hubless_service.http.answers import CountedAnswer, PayloadJson, WorkAnswer, about
from hubless_service.http.values import IdJson


class ScoresAnswer(TypedDict):
    """A correction of scores."""

    name: str
    items: Annotated[int, about("How many items have an offset; all others have the smallest.")]
    distance: Annotated[bool, about("Whether lower scores are better.")]
    details: Annotated[dict[str, float], about("How it came about: lists, distinct, temperature, shrinkage and more.")]
    pairs: Annotated[int | None, about("Labels that calibrated confidence; 0: it only orders answers; null: none.")]
    accuracies: Annotated[list[float], about("Values of min_accuracy that some answers reach.")]
    learning: Annotated[int | None, about("Lists that it keeps of those it was asked; null if it does not learn.")]
    counted: Annotated[CountedAnswer | None, about("How many of these count; null likewise.")]
    held_back: Annotated[list[IdJson], about("Items that few clients lift alone, or whose offset stands alone.")]
    work: Annotated[WorkAnswer | None, about("The last fit by the service on such lists.")]


class AllScoresAnswer(TypedDict):
    """All corrections of scores that may be seen."""

    scores: list[ScoresAnswer]


class DeletedScoresAnswer(TypedDict):
    """The correction is gone."""

    name: str
    deleted: bool


class RerankedHit(TypedDict):
    """An item of the lists."""

    id: IdJson
    score: Annotated[float, about("The sum of its parts.")]
    parts: Annotated[list[float], about("What each list adds to the score; 0 where it does not have the item.")]
    payload: NotRequired[Annotated[PayloadJson, about("Of the first list that has the item and was asked for it.")]]


class RerankAnswer(TypedDict):
    """The hits of all lists, best first."""

    hits: list[RerankedHit]
    confidence: NotRequired[Annotated[float, about("How likely the best hit is right, 0 to 1. Only with a cut.")]]
    calibrated: NotRequired[Annotated[bool, about("Whether this is a probability, and not only an order. Likewise.")]]
    answered: Annotated[bool, about("false if min_accuracy left out all hits.")]
    unknown: Annotated[
        list[int],
        about("Of each list, how many ids its correction does not know; if it knows none, nothing was corrected."),
    ]
