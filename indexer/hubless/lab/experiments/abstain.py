"""Which queries should be answered: confidence beside a cut at the cosine, on labelled pairs that it has not seen."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.builder.recipe import Metric
from hubless.corrections import corrected_scores
from hubless.errors import InputError, storage_errors
from hubless.lab.charts import ACCENT, RAW, Axis, Chart
from hubless.lab.experiments.compare import SEEDS
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant, as_relevant
from hubless.lab.experiments.trials import SCORES_HELD, Labelled, Scorer, Trial, open_labelled
from hubless.lab.table import TextTable
from hubless.measures.confidence.labels import FEWEST_PAIRS
from hubless.measures.confidence.model import DEPTH, Answers, ConfidenceModel, fit_confidence
from hubless.measures.confidence.quality import auroc, calibration_error, coverage, cut_for
from hubless.measures.significance import Interval, bootstrap_interval
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.store.durable import replace_text
from hubless.vectors.arrays import F32, F64, I64, check_between
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import in_memory

ACCURACY = 0.9
_FITTED, _MOST_RELEVANT, _RESAMPLES = 1000, 100, 300
_POINTS = 200
"""Of a curve, at most."""


@dataclass(frozen=True)
class CutQuality:
    """Measures of one number that tells right answers from wrong ones.

    Attributes
    ----------
    auroc : how likely a right answer has the higher number
    threshold, answered : the cut at which the wanted share of answers is right, and how many queries are above it
    shares, accuracies : the curve of coverage: share of the queries answered, and how many of these are right
    """

    auroc: float
    threshold: float
    answered: float
    shares: list[float]
    accuracies: list[float]

    @classmethod
    def of(cls, numbers: F64, right: NDArray[np.bool_], accuracy: float) -> "CutQuality":
        """Measure numbers (m,), higher for better answers."""
        cut = cut_for(numbers, right, accuracy)
        _, shares, accuracies = coverage(numbers, right)
        some = np.unique(np.linspace(0, len(shares) - 1, _POINTS).round().astype(int))
        lines = (line[some].round(5).tolist() for line in (shares, accuracies))
        return cls(auroc(numbers, right), cut.threshold, cut.share, *lines)


@dataclass(frozen=True)
class Abstention:
    """Worth of confidence on labelled queries.

    Attributes
    ----------
    accuracy : share of the answers that should be right
    answers_right : share of all queries whose first hit is right, raw and corrected
    cosine, confidence : a cut at the best cosine of the raw ranking, and at confidence
    presence_cosine, presence : AUROC of "is a right target there?", over each query with and without its right targets
    pairs : labelled pairs that calibrated confidence; 0 for none
    error : calibration error of confidence, with its 95 % interval; None if it is not calibrated
    error_of_one : the mean of that of each calibration alone, which is larger by the chance of fewer queries
    presence_error : that of presence, where half of the queries have an answer
    """

    correction: str
    accuracy: float
    queries: int
    answers_right: tuple[float, float]
    cosine: CutQuality
    confidence: CutQuality
    presence_cosine: float
    presence: float
    pairs: int
    error: float | None
    interval: Interval | None
    error_of_one: float | None
    presence_error: float | None
    notes: list[str] = field(default_factory=list)

    def table(self) -> TextTable:
        """Return the numbers as a table."""
        headings = ["cut at", "AUROC", f"answered at {self.accuracy:.0%} right", "threshold", "presence AUROC"]
        rows = (("best cosine", self.cosine, self.presence_cosine), ("confidence", self.confidence, self.presence))
        lines = []
        for name, cut, there in rows:
            threshold = f"{cut.threshold:.3f}" if cut.answered else "–"
            lines.append([name, f"{cut.auroc:.3f}", f"{cut.answered:.1%}", threshold, f"{there:.3f}"])
        return TextTable(headings, lines, " ".join(f"{sentence}." for sentence in self.sentences()))

    def sentences(self) -> list[str]:
        """Return what the table cannot say."""
        raw, corrected = self.answers_right
        said = [f"{self.queries:,} queries; the first hit is right for {corrected:.1%} ({raw:.1%} raw)"]
        if self.error is None or self.interval is None:
            said.append("Confidence is not calibrated: it orders answers, and is no probability")
        else:
            ends = f"[{self.interval.low:.3f}, {self.interval.high:.3f}]"
            said.append(
                f"Calibrated by {self.pairs} labelled pairs; calibration error {self.error:.3f} {ends} on others"
            )
        return [*said, *self.notes]

    def threshold_sentence(self) -> str:
        """Return the threshold at which enough answers are right, and how many queries it answers."""
        if not self.confidence.answered:
            return f"At no confidence {self.accuracy:.0%} of the answers are right"
        cut, cosine = self.confidence, self.cosine.answered
        at = f"With min_confidence {cut.threshold:.2f} (calibrated by {self.pairs} pairs)"
        return f"{at} {cut.answered:.0%} of the queries are answered, {self.accuracy:.0%} right; by cosine {cosine:.0%}"

    def plot(self) -> Chart:
        """Draw how many answers are right by how many queries are answered."""
        tenths = {tenth / 10: f"{10 * tenth}" for tenth in range(0, 11, 2)}
        least = min([*self.cosine.accuracies, *self.confidence.accuracies, self.accuracy - 0.1])
        x = Axis("queries answered, in %", 0, 1.02, tenths, grid=True)
        chart = Chart(x, Axis("of these right, in %", max(0, least - 0.05), 1.02, tenths, grid=True))
        for name, cut, colour in (("confidence", self.confidence, ACCENT), ("best cosine", self.cosine, RAW)):
            chart.line(cut.shares, cut.accuracies, colour, name)
        chart.rule(RAW, f"{self.accuracy:.0%} right", y=self.accuracy, dash="2 3")
        return chart

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return asdict(self)


FORMATS: dict[str, Callable[[Abstention], str]] = {
    ".json": lambda made: json.dumps(made.as_json(), indent=2, ensure_ascii=False) + "\n",
    ".md": lambda made: made.table().markdown(),
    ".svg": lambda made: made.plot().svg("#fff") + "\n",
}


def check_chart(path: Path) -> None:
    """Raise `InputError` unless the path ends in a known format."""
    if path.suffix not in FORMATS:
        raise InputError("output", f"a file ending in {', '.join(FORMATS)}", path.suffix or "no ending")


def write_abstention(made: Abstention, path: Path) -> None:
    """Write the numbers, the table or the picture, by the ending of the path."""
    check_chart(path)
    with storage_errors(path):
        replace_text(path, FORMATS[path.suffix](made))


class TrialAnswers(NamedTuple):
    """The answers to the test queries of a trial, raw and at a strength, and the model of confidence of its bank."""

    model: ConfidenceModel
    raw: Answers
    found: Answers
    strength: float


@dataclass(frozen=True)
class _Outcomes:
    """Answers to some queries, (m,) each, and presence over the same queries with and without right targets, (2m,)."""

    confidence: F64
    right: NDArray[np.bool_]
    cosine: F64
    raw_right: NDArray[np.bool_]
    presence: F64
    presence_cosine: F64
    pairs: int


def abstain(
    queries: Vectors | Labelled,
    targets: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    correction: str | Method = "auto",
    *,
    metric: Metric | None = None,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    seeds: int = SEEDS,
    strength: float = 1.0,
    pairs: int | None = None,
    accuracy: float = ACCURACY,
    progress: bool | None = None,
) -> Abstention:
    """Measure confidence on labelled queries, beside a cut at the best cosine.

    In each trial the model is fitted on the bank, without labels. Half of the test queries calibrate it, the other half
    is assessed, and the other way round.

    Parameters
    ----------
    queries, targets, relevant, metric, query_bank, target_bank, seeds : as for `compare`
    correction : its name, or a method
    strength : λ
    pairs : how many labelled pairs calibrate; None for half of the test queries of a trial, 0 for none
    accuracy : share of answers that should be right

    Raises
    ------
    InputError
        as `compare`; if there are fewer than 20 labelled pairs.
    """
    check_between("accuracy", accuracy, 0, 1)
    if pairs and pairs < FEWEST_PAIRS:
        raise InputError("pairs", f"at least {FEWEST_PAIRS}, better 100 and more", pairs)
    given = queries
    if not isinstance(given, Labelled):
        given = open_labelled(given, targets, relevant, query_bank=query_bank, target_bank=target_bank, metric=metric)
    if given.pairs.matrices is not None:
        raise InputError("queries", "vectors, as confidence depends on them", "similarities")
    method = Method(correction) if isinstance(correction, str) else correction
    method.check()
    with progress_bars(progress) as steps:
        advance = steps.step("measuring confidence", seeds if given.query_bank is None else 1)
        trials = []
        for trial in given.trials(seeds):
            trials.append(trial_answers(trial, method, strength))
            advance(1)
    return measured(method.label, trials, pairs, accuracy, given.notes())


def abstain_collection(
    collection: Collection, queries: Vectors, relevant: str | Path | Relevant, *, accuracy: float = ACCURACY
) -> Abstention:
    """Measure the confidence of a collection, as it is served, on labelled queries that are not in its bank.

    Parameters
    ----------
    queries : (m, d)
    relevant : for each query the row number of its right target, or a list of several, or an empty one
    accuracy : share of answers that should be right

    Raises
    ------
    InputError
        if they do not fit the collection or each other, or it has no model of confidence.
    """
    check_between("accuracy", accuracy, 0, 1)
    model, strength = collection.parts.confidence, collection.strength
    if model is None:
        raise InputError("collection", "one with a model of confidence; build it with a query bank", "one without")
    asked = collection.prepare(in_memory(as_items(queries, "queries").vectors), "queries")
    right = as_relevant(relevant, len(asked), collection.count)
    rows = np.flatnonzero([len(each) > 0 for each in right])
    asked, right = asked[rows], [right[row] for row in rows]
    depth = DEPTH + min(_MOST_RELEVANT, max(map(len, right)))
    raw, found = (collection.query(asked, depth, each, prepared=True) for each in (0.0, strength))
    before, after = (Answers.of(asked, each.scores, each.rows, right) for each in (raw, found))
    outcomes = [_outcomes(model, before, after, strength)]
    return _together(collection.manifest.correction.name, accuracy, outcomes, [])


def trial_answers(trial: Trial, method: Method, strength: float = 1.0) -> TrialAnswers:
    """Return the answers to the test queries of a trial, and the model of confidence that its bank gives."""
    scorer, bank = method.fit(trial), trial.query_bank[:_FITTED]
    best = partial(_best, trial, scorer)
    model = fit_confidence(bank, best(bank, DEPTH, 0.0)[0], best(bank, DEPTH, 1.0)[0])
    depth = DEPTH + min(_MOST_RELEVANT, max(map(len, trial.relevant)))
    raw, found = (
        Answers.of(trial.queries, *best(trial.queries, depth, each), trial.relevant) for each in (0.0, strength)
    )
    return TrialAnswers(model, raw, found, strength)


def measured(
    label: str, trials: Sequence[TrialAnswers], pairs: int | None, accuracy: float, notes: Sequence[str] = ()
) -> Abstention:
    """Measure confidence on the answers of some trials: see `abstain`."""
    outcomes = [each for seed, trial in enumerate(trials) for each in _folds(trial, pairs, seed)]
    return _together(label, accuracy, outcomes, list(notes))


def _folds(trial: TrialAnswers, pairs: int | None, seed: int) -> Iterator[_Outcomes]:
    """Calibrate by some answers of a trial, and assess the others."""
    if pairs == 0:
        yield _outcomes(trial.model, trial.raw, trial.found, trial.strength)
        return
    count = len(trial.found.right)
    order = np.random.default_rng(seed).permutation(count)
    labelled = count // 2 if pairs is None else min(pairs, count - count // 5)
    if labelled < FEWEST_PAIRS:
        expected = f"at least {FEWEST_PAIRS} labelled pairs to calibrate by in each trial"
        raise InputError("relevant", expected, labelled)
    for fold in (order[:labelled], order[labelled:]) if pairs is None else (order[:labelled],):
        others = np.setdiff1d(order, fold)
        model = trial.model.calibrate(_some(trial.found, fold), trial.strength)
        yield _outcomes(model, _some(trial.raw, others), _some(trial.found, others), trial.strength)


def _best(trial: Trial, scorer: Scorer, queries: F32, depth: int, strength: float) -> tuple[F32, I64]:
    """Return the rows of the best targets of a trial for queries (m, d), and their scores by folded offsets alone."""
    targets, depth = trial.targets, min(depth, len(trial.targets))
    scores, rows = [], []
    step = max(1, SCORES_HELD // len(targets))
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        similarities = some @ targets.T
        given = (some, similarities, strength, scorer.offsets, scorer.query_time)
        block = corrected_scores(*given, targets.__getitem__)
        order = np.argsort(-block, axis=1, kind="stable")[:, :depth]
        folded = similarities - np.float32(strength) * scorer.offsets
        scores.append(np.take_along_axis(folded, order, axis=1))
        rows.append(order)
    return np.concatenate(scores), np.concatenate(rows)


def _some(answers: Answers, rows: I64) -> Answers:
    return Answers(answers.queries[rows], answers.best[rows], answers.right[rows], answers.without[rows])


def _outcomes(model: ConfidenceModel, raw: Answers, found: Answers, strength: float) -> _Outcomes:
    there, gone = (model.assess(found.queries, best, best[:, :1], strength) for best in (found.best, found.without))
    return _Outcomes(
        confidence=there.confidence.astype(np.float64),
        right=found.right,
        cosine=raw.best[:, 0].astype(np.float64),
        raw_right=raw.right,
        presence=np.concatenate([there.presence, gone.presence]).astype(np.float64),
        presence_cosine=np.concatenate([raw.best[:, 0], raw.without[:, 0]]).astype(np.float64),
        pairs=model.pairs,
    )


def _together(label: str, accuracy: float, outcomes: list[_Outcomes], notes: list[str]) -> Abstention:
    """Measure all queries of all trials together."""
    confidence, right, cosine, raw_right = (
        np.concatenate([getattr(each, name) for each in outcomes])
        for name in ("confidence", "right", "cosine", "raw_right")
    )
    presence, presence_cosine = (
        np.concatenate([getattr(each, name) for each in outcomes]) for name in ("presence", "presence_cosine")
    )
    present = np.concatenate([np.repeat([True, False], len(each.right)) for each in outcomes])
    calibrated = all(each.pairs for each in outcomes)
    errors = [calibration_error(each.confidence, each.right) for each in outcomes]
    return Abstention(
        correction=label,
        accuracy=accuracy,
        queries=len(right),
        answers_right=(float(raw_right.mean()), float(right.mean())),
        cosine=CutQuality.of(cosine, raw_right, accuracy),
        confidence=CutQuality.of(confidence, right, accuracy),
        presence_cosine=auroc(presence_cosine, present),
        presence=auroc(presence, present),
        pairs=round(float(np.mean([each.pairs for each in outcomes]))),
        error=calibration_error(confidence, right) if calibrated else None,
        interval=_interval(confidence, right) if calibrated else None,
        error_of_one=float(np.mean(errors)) if calibrated else None,
        presence_error=calibration_error(presence, present) if calibrated else None,
        notes=notes,
    )


def _interval(confidence: F64, right: NDArray[np.bool_]) -> Interval:
    rows = np.arange(len(right), dtype=np.float64)

    def errors(drawn: F64) -> F64:
        return np.array([calibration_error(confidence[some], right[some]) for some in drawn.astype(np.int64)])

    return bootstrap_interval(rows, errors, resamples=_RESAMPLES)
