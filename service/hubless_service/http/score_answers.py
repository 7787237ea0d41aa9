"""The JSON of answers about corrections of scores, and of reranked lists."""

from collections.abc import Iterable
from typing import NotRequired

from hubless.measures.confidence.cut import Cut
from hubless_service.http.answers import AnswerPart, CountedAnswer, WorkAnswer
from hubless_service.http.values import IdJson, Json


class ScoresAnswer(AnswerPart):
    """A correction of scores."""

    name: str
    items: int
    """How many items have an offset; all others have the smallest."""
    distance: bool
    """Whether lower scores are better."""
    details: dict[str, float]
    """How it came about: lists, distinct, temperature, shrinkage and more."""
    pairs: int | None
    """Labels that calibrated confidence; 0: it only orders answers; null: none."""
    accuracies: list[float]
    """Values of min_accuracy that some answers reach."""
    learning: int | None
    """Lists that it keeps of those it was asked; null if it does not learn."""
    counted: CountedAnswer | None
    """How many of these count; null likewise."""
    held_back: list[IdJson]
    """Items that few clients lift alone, or whose offset stands alone."""
    work: WorkAnswer | None
    """The last fit by the service on such lists."""


class AllScoresAnswer(AnswerPart):
    """All corrections of scores that may be seen."""

    scores: list[ScoresAnswer]


class DeletedScoresAnswer(AnswerPart):
    """The correction is gone."""

    name: str
    deleted: bool


class RerankedHit(AnswerPart):
    """An item of the lists."""

    id: IdJson
    score: float
    """The sum of its parts."""
    parts: list[float]
    """What each list adds to the score; 0 where it does not have the item."""
    payload: NotRequired[Json | None]
    """Of the first list that has the item and was asked for it."""


class CertaintyAnswer(AnswerPart, total=False):
    """Certainty that the best hit of an answer is right; nothing without a cut."""

    confidence: float
    calibrated: bool
    answered: bool


def certainty_of(cut: Cut, scores: Iterable[float], min_accuracy: float | None) -> CertaintyAnswer:
    """Return how sure the first of a query's best scores is, and whether it is as sure as asked for.

    Raises `InputError` for an accuracy that the labels of the cut cannot promise.
    """
    sure = cut.confidence(scores)
    enough = not min_accuracy or sure >= cut.threshold(min_accuracy, "min_accuracy")
    return {"confidence": sure, "calibrated": cut.pairs > 0, "answered": enough}


class RerankAnswer(AnswerPart):
    """The hits of all lists, best first."""

    hits: list[RerankedHit]
    confidence: NotRequired[float]
    """How likely the best hit is right, 0 to 1. Only with a cut."""
    calibrated: NotRequired[bool]
    """Whether this is a probability, and not only an order. Likewise."""
    answered: bool
    """false if min_accuracy left out all hits."""
    unknown: list[int]
    """Of each list, how many ids its correction does not know; if it knows none, nothing was corrected."""
