"""The model of confidence: fitted on past answers, applied to the best scores of a query, of ours or of any system.

Of a query with best scores s_1 ≥ s_2 ≥ … it looks at two numbers, both without unit:

    x = −log Σ_{i=2..11} exp((s_i − s_1)/τ)        how far the first hit is ahead of the others
    z = (s_1 − q·w − c)/τ                          how far it is above what a second hit of such a query has
    h = (z/σ_z + (its similarity − u)/σ_u)/2       the same, beside its similarity above that of a usual second hit

Scores equal to s_1 count as one: these are copies, and each is right if one is. Confidence is σ(x·slope + intercept),
presence the same of h: z alone tells what was taken out of a collection, similarity what is strange to all of it.
Without labels slopes and intercepts are fixed; labelled pairs fit them (Platt scaling), and find the cuts that keep a
promise. x needs scores only; h is for who has vectors.

x supposes that one target is right for a query: the others are what it leads. Where labels say that several are, they
choose between x, h and their mean, as `lean` 0, 1 and ½, by the log loss on labels that did not fit the curve.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp, floor
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless.errors import InputError
from hubless.measures.confidence.assessment import Assessment
from hubless.measures.confidence.conformal import least_share, right_hits
from hubless.measures.confidence.guarantee import ACCURACIES, SURE, check_chance, guaranteed_cut, labels_needed
from hubless.measures.confidence.level import Level
from hubless.measures.confidence.logistic import Logistic
from hubless.measures.confidence.score_lists import FEWEST_LISTS, check_enough, score_list, score_lists
from hubless.measures.labelled_answers import DEPTH, Answers
from hubless.vectors.arrays import F32, F64, Flags, check_between

CONFIDENCE, PRESENCE = Logistic(1.0, -0.5), Logistic(0.75, -0.5)
"""The model that real sets have in common: a start for labelled pairs, and for versions without any."""
_USUAL = 0.9
"""The accuracy of which who calibrates is told if it cannot be promised."""
_DIGITS = 1e6
"""Thresholds are rounded down, so that the answer that made one reaches it in float32 and in databases, too."""
_MOST_KNOWN = 8
"""So many strengths are kept, as queries may ask for any."""
_KNOWN = {"temperature", "second", "depth", "slope", "intercept", "pairs", "sure", "distance", "cuts"}
_UNITS = ("temperature", "of_z", "of_similarity")
_PLACES = ("constant", "second", "near")
_NUMBERS = (*_UNITS, *_PLACES)
_LEANS = (0.0, 0.5, 1.0)
_NO_CUTS: tuple[float | None, ...] = (None,) * len(ACCURACIES)
_log = logging.getLogger("hubless.confidence")


@dataclass(frozen=True, eq=False)
class Cut:
    """Turns the best scores of queries into confidence and presence, which `pairs` calibrated at `strength`.

    `levels` are for strengths 0 and 1, `curve` and `presence` those of x + lean·(h − x) and h. `cuts` are the
    thresholds that keep the promises of `ACCURACIES`, with a chance of `sure`; None where none does. `distance`: lower
    is better. `found` (p, 2) are share and rank of the best right hit of each labelled query that has a right target:
    see `conformal`.
    """

    levels: tuple[Level, Level]
    curve: Logistic = CONFIDENCE
    presence: Logistic = PRESENCE
    pairs: int = 0
    strength: float = 1.0
    sure: float = SURE
    cuts: tuple[float | None, ...] = _NO_CUTS
    distance: bool = False
    lean: float = 0.0
    found: F64 = field(default_factory=lambda: np.zeros((0, 2)), repr=False)
    _known: dict[float, Level] = field(default_factory=dict, init=False, repr=False)

    @property
    def accuracies(self) -> list[float]:
        """The promises that some answers keep."""
        return [accuracy for accuracy, cut in self._promises if cut is not None]

    @property
    def _promises(self) -> list[tuple[float, float | None]]:
        return [*zip(ACCURACIES, self.cuts, strict=True)]

    @classmethod
    def fit(cls, lists: Iterable[Iterable[float]], *, distance: bool = False) -> Self:
        """Fit the model on past answers of any system, without labels and vectors.

        Each list has the scores of one query's best hits, 11 at least if there are as many, first hit first. With
        `distance` lower is better. Raises `InputError` for fewer than 20 lists of two scores and more, for scores that
        are no numbers, or that rise from hit to hit where they should fall.
        """
        read = score_lists(lists, distance)
        check_enough(read)
        level = Level.of_lists(read)
        return cls((level, level), distance=distance)

    def confidence(self, scores: Iterable[float]) -> float:
        """Return how likely the first hit is right, 0 to 1, by the scores of a query's best hits; 0 without hits.

        Without labels it orders answers, and is no probability; nor is it where labels chose more than scores.
        """
        read = score_list(scores, self.distance)
        return self._alone.curve.of_one(self._lead(read)) if read else 0.0

    def accept(self, scores: Iterable[float], accuracy: float = 0.9) -> bool:
        """Return whether to answer a query, so that this share of the answers is right.

        Raises `InputError` for a cut without labels, or whose labels cannot make this promise: it says what they can.
        """
        return self.confidence(scores) >= self._alone.threshold(accuracy)

    def calibrate(self, lists: Iterable[Iterable[float]], right: ArrayLike, *, sure: float = SURE) -> Self:
        """Return the cut with confidence as a probability, and with thresholds that keep their promises.

        `right` (p,) says of each list whether its first hit was right. The promise: of queries like these, the share of
        right answers above a threshold is as high as asked for, with a chance of `sure`. Raises `InputError` for fewer
        than 20 lists.
        """
        read = score_lists(lists, self.distance)
        known = np.asarray(right)
        if known.dtype != np.bool_ or known.shape != (len(read),):
            expected = f"true or false for each of the {len(read)} lists"
            raise InputError("right", expected, f"{known.dtype} of shape {known.shape}")
        some = np.flatnonzero([len(scores) > 0 for scores in read])
        if len(some) < FEWEST_LISTS:
            raise InputError("lists", f"at least {FEWEST_LISTS} with hits, better 200", len(some))
        leads = np.array([self._lead(read[row]) for row in some])
        return self._alone._calibrated(leads, known[some], sure).told()

    def threshold(self, accuracy: float, name: str = "accuracy", strength: float | None = None) -> float:
        """Return the confidence from which on this share of the answers is right.

        An accuracy between two of `ACCURACIES` gets the higher one. Raises `InputError` as `accept`.
        """
        check_between(name, accuracy, 0, ACCURACIES[-1])
        self._check_labels(self.pairs, name, accuracy, self.strength if strength is None else strength)
        asked, found = next(pair for pair in self._promises if pair[0] >= accuracy)
        if found is None:
            raise InputError(name, self._kept(asked), accuracy)
        return found

    def least_share(self, coverage: float, limit: int, strength: float) -> float:
        """Return the share from which on hits are sent at a strength, `limit` at most, so that they hold a right one.

        That is so with a chance of `coverage`, above 0, at most 1. Raises `InputError` for a cut without labels, or
        whose labels cannot promise it: it says what they can.
        """
        self._check_labels(len(self.found), "coverage", coverage, strength)
        return least_share(self.found, coverage, limit)

    def _check_labels(self, labels: int, name: str, asked: float, strength: float) -> None:
        if not labels:
            raise InputError(name, "none, as confidence is not calibrated for it: labelled queries do that", asked)
        if strength != self.strength:
            raise InputError(name, f"none but at strength {self.strength:g}, which has labels", asked)

    def as_json(self, strength: float | None = None) -> dict[str, Any]:
        """Return the model of scores alone, at a strength: 15 numbers, and whether scores are distances."""
        alone = self._alone
        level = self.level(self.strength if strength is None else strength)
        return {
            "temperature": level.temperature,
            "second": level.second,
            "depth": level.depth,
            "slope": alone.curve.slope,
            "intercept": alone.curve.intercept,
            "pairs": alone.pairs,
            "sure": alone.sure,
            "distance": alone.distance,
            "cuts": {f"{accuracy:g}": cut for accuracy, cut in alone._promises},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | str) -> Self:
        """Return the model of what `as_json` gave, or of its text. Raises `InputError` if it is something else."""
        try:
            given = json.loads(document) if isinstance(document, str) else dict(document)
            if given.keys() != _KNOWN:
                raise ValueError(f"has {', '.join(map(str, given))}")
            level = Level.of_scores(float(given["temperature"]), float(given["second"]), int(given["depth"]))
            curve = Logistic(float(given["slope"]), float(given["intercept"]))
            known = given["cuts"]
            least = min(map(float, known))  # older ones make no lower promise, and have 2 where nothing keeps one
            found = (known[f"{max(least, accuracy):g}"] for accuracy in ACCURACIES)
            cuts = tuple(None if cut is None or cut > 1 else float(cut) for cut in found)
            numbers = [level.temperature, level.second, *curve, *filter(None, cuts)]
            if not np.isfinite(numbers).all() or level.temperature <= 0 or not 1 < level.depth <= DEPTH:
                raise ValueError("has numbers that no cut has")
            return cls(
                (level, level),
                curve,
                pairs=int(given["pairs"]),
                sure=float(given["sure"]),
                cuts=cuts,
                distance=bool(given["distance"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError("cut", "the JSON of a hubless.Cut of this version", str(error)) from error

    def level(self, strength: float) -> Level:
        """Return the model at a strength, between that of the raw and that of the corrected scores."""
        if strength in self._known:
            return self._known[strength]
        raw, full = self.levels

        def between(name: str) -> Any:
            return (1 - strength) * getattr(raw, name) + strength * getattr(full, name)

        units = {name: max(between(name), getattr(full, name) / 10) for name in _UNITS}
        made = full._replace(weights=between("weights"), **units, **{name: between(name) for name in _PLACES})
        if len(self._known) < _MOST_KNOWN:
            self._known[strength] = made
        return made

    def assess(self, queries: F32, best: F32, near: F32, scores: F32, strength: float = 1.0) -> Assessment:
        """Return how sure answers to queries (m, d) are, at a strength.

        `best` (m, b) are the best scores, best first, `near` (m, 1) the similarity of the first hit, `scores` (m, k)
        those of the hits that are sent.
        """
        if not best.shape[1]:
            return Assessment(np.zeros((len(best), 2 + scores.shape[1]), np.float32), self.pairs > 0)
        level = self.level(strength)
        calibrated = self.pairs > 0 and strength == self.strength
        if len(best) == 1:
            seen = best[0, :DEPTH].tolist()
            x, z = level.numbers_of_one(queries[0], seen)
            height = level.height(z, near.item())
            one = self.curve.of_one(x + self.lean * (height - x))
            first = seen[0]
            per = 1 / level.temperature
            share = [one * exp((score - first) * per) if score < first else one for score in scores[0].tolist()]
            return Assessment(np.array([[one, self.presence.of_one(height), *share]], np.float32), calibrated)
        lead, above = level.numbers(queries, best[:, :DEPTH])
        heights = level.height(above, near[:, 0].astype(np.float64))
        confidence = self.curve(lead + self.lean * (heights - lead))
        over = np.minimum(scores.astype(np.float64) - best[:, :1], 0) * (1 / level.temperature)
        columns = (confidence, self.presence(heights), confidence[:, np.newaxis] * np.exp(over))
        return Assessment(np.column_stack(columns).astype(np.float32), calibrated)

    def calibrated_by(self, answers: Answers, strength: float) -> Self:
        """Return the model with confidence and presence fitted to labelled pairs, as probabilities.

        Presence is the probability if half of all queries have a right target: labelled pairs do not say how many do.
        The model stays as it is if every target is right for all queries, as for a collection of one target.
        """
        if not answers.without.shape[1]:
            return self
        level = self.level(strength)
        x, z = level.numbers(answers.queries, answers.best)
        _, without = level.numbers(answers.queries, answers.without)
        there, gone = (level.height(*each) for each in zip((z, without), answers.near.T, strict=True))
        present = np.repeat([True, False], [answers.there.sum(), len(gone)])
        presence = PRESENCE.fitted(np.concatenate([there[answers.there], gone]), present)
        numbers = {lean: x + lean * (there - x) for lean in (_LEANS if answers.several.any() else _LEANS[:1])}
        lean = min(numbers, key=lambda each: CONFIDENCE.missed(numbers[each], answers.right))
        made = self._calibrated(numbers[lean], answers.right, SURE)
        made = replace(made, presence=presence, strength=strength, lean=lean)
        shares = made.assess(answers.queries, answers.best, answers.near, answers.scores, strength).shares
        return replace(made, found=right_hits(shares[answers.there], answers.among[answers.there]))

    def with_calibration(self, other: "Cut") -> Self:
        """Return the model with the calibration of another one: x and h have no unit, and mean the same in both."""
        names = ("curve", "presence", "pairs", "strength", "sure", "cuts", "lean", "found")
        return replace(self, **{name: getattr(other, name) for name in names})

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the model as arrays, from which `from_state` makes it again."""
        return {
            **{name: np.array([getattr(level, name) for level in self.levels]) for name in _NUMBERS},
            "weights": np.stack([level.weights for level in self.levels]),
            "curves": np.array([self.curve, self.presence]),
            "labels": np.array([self.pairs, self.strength, self.sure, self.lean]),
            "cuts": np.array([np.nan if cut is None else cut for cut in self.cuts]),
            "found": self.found,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        """Return the model of `state` for d dimensions. Raises `ValueError` for arrays of other shapes."""
        shapes = tuple(state[name].shape for name in (*_NUMBERS, "curves", "weights", "labels", "cuts"))
        shapes += (state["found"].shape[1:],)
        known = all((state[name] > 0).all() for name in _UNITS)
        if shapes != (*[(2,)] * len(_NUMBERS), (2, 2), (2, dim), (4,), (len(ACCURACIES),), (2,)) or not known:
            raise ValueError(f"a model of confidence of other shapes, {shapes}, or without units")
        raw, full = (
            Level(weights=state["weights"][place], **{name: state[name][place].item() for name in _NUMBERS})
            for place in (0, 1)
        )
        curve, presence = (Logistic(*line) for line in state["curves"].tolist())
        pairs, strength, sure, lean = state["labels"].tolist()
        cuts = tuple(None if np.isnan(cut) else cut for cut in state["cuts"].tolist())
        return cls((raw, full), curve, presence, int(pairs), strength, sure, cuts, lean=lean, found=state["found"])

    @property
    def _alone(self) -> Self:
        """The model of scores alone: without labels where these chose more than that."""
        return replace(self, curve=CONFIDENCE, pairs=0, cuts=_NO_CUTS, lean=0.0) if self.lean else self

    def _lead(self, scores: list[float]) -> float:
        level = self.level(self.strength)
        return level.numbers_of_one(None, scores[: level.depth])[0]

    def _calibrated(self, leads: F64, right: Flags, sure: float) -> Self:
        check_chance("sure", sure)
        curve = CONFIDENCE.fitted(leads, right)
        confidence = curve(leads)
        kept = [guaranteed_cut(confidence, right, accuracy, sure) for accuracy in ACCURACIES]
        cuts = (None if cut.threshold is None else floor(cut.threshold * _DIGITS) / _DIGITS for cut in kept)
        return replace(self, curve=curve, pairs=len(leads), sure=sure, cuts=tuple(cuts))

    def told(self) -> Self:
        """Return the cut, and warn if labels cannot promise the usual accuracy."""
        if _USUAL not in self.accuracies:
            _log.warning(f"accuracy {_USUAL} cannot be promised: {self._kept(_USUAL)}")
        return self

    def _kept(self, accuracy: float) -> str:
        """Return the promises that there are, and how many more labels may bring a higher one, if any do."""
        most, higher = "none", f"even {ACCURACIES[0]:g}"
        if self.accuracies:
            most, higher = f"at most {self.accuracies[-1]:g}", "more"
        if (more := labels_needed(accuracy, self.sure) - self.pairs) > 0:
            return f"{most}, or about {more} more labelled queries than the {self.pairs} that calibrated confidence"
        return f"{most}, as no cut keeps {higher} on the {self.pairs} labelled queries that calibrated confidence"


def fit_confidence(queries: F32, raw: tuple[F32, F32], full: tuple[F32, F32]) -> Cut:
    """Fit the model on bank queries (b, d), without labels, by the scores and similarities (b, k) of their hits.

    These come from rankings at strengths 0 and 1, best hit first.
    """
    return Cut((Level.fit(queries, *raw), Level.fit(queries, *full)))
