"""Which queries should be answered: confidence beside a cut at the cosine, on labelled pairs that it has not seen."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from hubless.builder.keywords import with_keywords
from hubless.corrections import corrected_scores
from hubless.diagnosing.gallery import known_targets
from hubless.diagnosing.table import TextTable
from hubless.errors import InputError
from hubless.measures.confidence.cut import Cut, fit_confidence
from hubless.measures.confidence.guarantee import SURE, GuaranteedCut, check_chance, guaranteed_cut
from hubless.measures.labelled_answers import DEPTH, Answers
from hubless.measures.labelled_pairs import FEWEST_PAIRS
from hubless.measures.labels import Labels, known_queries, known_rows
from hubless.measures.significance import Interval
from hubless.progress import Progressing, progress_bars
from hubless.search.collection import Collection
from hubless.search.pages import render
from hubless.vectors.arrays import F32, F64, I64, Flags
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import in_memory
from hubless_lab.charts import ACCENT, RAW, Axis, Chart
from hubless_lab.experiments.drawn_banks import SEEDS, Draws
from hubless_lab.experiments.measured_rows import check_some_right, left_out_note
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.quality import answered_shares, auroc, calibration_error, cut_for
from hubless_lab.experiments.trials import SCORES_HELD, Labelled, LabelledInputs, Scorer, Trial, open_labelled
from hubless_lab.measures import bootstrap_interval

ACCURACY = 0.9
_FITTED, _MOST_RELEVANT, _RESAMPLES = 1000, 100, 300
_POINTS = 200


class TrialAnswers(NamedTuple):
    """The answers to the test queries of a trial, raw and at a strength, and the model of confidence of its bank.

    `asked` are the numbers of the queries (m,): another trial may have the same ones.
    """

    asked: I64
    model: Cut
    raw: Answers
    found: Answers
    strength: float

    def outcomes(self, rows: slice | I64 = slice(None), model: Cut | None = None) -> "Outcomes":
        """Return how sure the answers to some of the queries are, and whether they are right."""
        model = model or self.model
        raw, found = self.raw.some(rows), self.found.some(rows)
        there, gone = (
            model.assess(found.queries, best, found.near[:, [place]], best[:, :1], self.strength)
            for place, best in enumerate((found.best, found.without))
        )
        asked = int(found.there.sum())
        return Outcomes(
            asked=self.asked[rows],
            confidence=there.confidence.astype(np.float64),
            right=found.right,
            cosine=raw.best[:, 0].astype(np.float64),
            raw_right=raw.right,
            presence=np.concatenate([there.presence[found.there], gone.presence]).astype(np.float64),
            presence_cosine=np.concatenate([raw.best[found.there, 0], raw.without[:, 0]]).astype(np.float64),
            present=np.repeat([True, False], [asked, len(found.there)]),
            strange=np.concatenate([np.zeros(asked, np.bool_), ~found.there]),
            pairs=np.full(len(found.right), model.pairs),
        )


class Outcomes(NamedTuple):
    """Answers to some queries, (m,) each; presence is over the same queries with and without their right targets.

    Those are `strange` that never had any.
    """

    asked: I64
    confidence: F64
    right: Flags
    cosine: F64
    raw_right: Flags
    presence: F64
    presence_cosine: F64
    present: Flags
    strange: Flags
    pairs: I64


@dataclass(frozen=True)
class CutQuality:
    """Measures of one number that tells right answers from wrong ones.

    `auroc` is how likely a right answer has the higher number, `threshold` the cut at which the wanted share of answers
    is right, `answered` the share of queries above it; `shares` and `accuracies` are the curve of coverage.
    `guaranteed` is the cut that keeps this share on other queries, too.
    """

    auroc: float
    threshold: float
    answered: float
    shares: list[float]
    accuracies: list[float]
    guaranteed: GuaranteedCut

    @classmethod
    def of(
        cls,
        numbers: F64,
        right: Flags,
        accuracy: float,
        sure: float,
        once: I64,
    ) -> "CutQuality":
        """Measure numbers (m,) of answers. `once` are those of different queries: only these make a promise."""
        cut = cut_for(numbers, right, accuracy)
        promised = guaranteed_cut(numbers[once], right[once], accuracy, sure)
        _, shares, accuracies = answered_shares(numbers, right)
        some = np.unique(np.linspace(0, len(shares) - 1, _POINTS).round().astype(int))
        answered, accurate = (line[some].round(5).tolist() for line in (shares, accuracies))
        return cls(auroc(numbers, right), cut.threshold, cut.share, answered, accurate, promised)


@dataclass(frozen=True)
class Abstention:
    """Worth of confidence on labelled queries, of which `accuracy` is the share of answers that should be right.

    `sure` is the chance with which the guaranteed cuts keep that share.

    `answers_right` are shares of right first hits, raw and corrected. `absents` and `strangers` are AUROC of the best
    cosine and of presence: was the right target taken out, or does nothing fit (None without such queries)? `pairs`
    calibrated confidence; without any there is no calibration `error`.
    """

    correction: str
    accuracy: float
    sure: float
    queries: int
    answers_right: tuple[float, float]
    cosine: CutQuality
    confidence: CutQuality
    absents: Sequence[float]
    strangers: Sequence[float] | None
    pairs: int
    error: float | None
    interval: Interval | None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, label: str, accuracy: float, sure: float, outcomes: Sequence[Outcomes], notes: Sequence[str] = ()
    ) -> "Abstention":
        """Measure answers to queries of all folds. Those of one query in several folds make one promise only."""
        whole = Outcomes(*map(np.concatenate, zip(*outcomes, strict=True)))
        calibrated = bool(whole.pairs.all())
        absents, strangers = (
            [auroc(each[some], whole.present[some]) for each in (whole.presence_cosine, whole.presence)]
            for some in (~whole.strange, whole.present | whole.strange)
        )
        once = np.unique(whole.asked, return_index=True)[1]
        return cls(
            correction=label,
            accuracy=accuracy,
            sure=sure,
            queries=len(whole.right),
            answers_right=(float(whole.raw_right.mean()), float(whole.right.mean())),
            cosine=CutQuality.of(whole.cosine, whole.raw_right, accuracy, sure, once),
            confidence=CutQuality.of(whole.confidence, whole.right, accuracy, sure, once),
            absents=absents,
            strangers=strangers if whole.strange.any() else None,
            pairs=round(float(np.mean([each.pairs[0] for each in outcomes]))),
            error=calibration_error(whole.confidence, whole.right) if calibrated else None,
            interval=_interval(whole.confidence, whole.right) if calibrated else None,
            notes=list(notes),
        )

    def table(self) -> TextTable:
        """Return a line for the cut at the best cosine, and one for confidence."""
        headings = [
            "cut at",
            "AUROC",
            f"answered at {100 * self.accuracy:.0f} % right",
            f"{100 * self.sure:.0f} % sure",
            "threshold",
            "AUROC of absents",
            "of strangers",
        ]
        rows = (("best cosine", self.cosine), ("confidence", self.confidence))
        lines = []
        for place, (name, cut) in enumerate(rows):
            kept = cut.guaranteed
            at = "–" if kept.threshold is None else f"{kept.threshold:.3f}"
            shares = (f"{100 * share:.1f} %" for share in (cut.answered, kept.share))
            told = ("–" if each is None else f"{each[place]:.3f}" for each in (self.absents, self.strangers))
            lines.append([name, f"{cut.auroc:.3f}", *shares, at, *told])
        said = render("abstention.txt", "hubless_lab", made=self)
        return TextTable(
            headings, lines, " ".join([said, *(f"{each}." for each in (self.threshold_sentence(), *self.notes))])
        )

    def threshold_sentence(self) -> str:
        """Return the confidence from which on the wanted share of the answers is right, and what is answered then."""
        return render("threshold.txt", "hubless_lab", made=self)

    def plot(self, measure: str = "") -> Chart:
        """Draw the share of right answers over the share of queries that are answered."""
        tenths = {tenth / 10: f"{10 * tenth}" for tenth in range(0, 11, 2)}
        least = min([*self.cosine.accuracies, *self.confidence.accuracies, self.accuracy - 0.1])
        x = Axis("queries answered, in %", 0, 1.02, tenths, grid=True)
        chart = Chart(x, Axis("of these right, in %", max(0, least - 0.05), 1.02, tenths, grid=True))
        for name, cut, colour in (("confidence", self.confidence, ACCENT), ("best cosine", self.cosine, RAW)):
            chart.line(cut.shares, cut.accuracies, colour, name)
        chart.rule(RAW, f"{100 * self.accuracy:.0f} % right", self.accuracy)
        return chart

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def records(self) -> list[dict[str, Any]]:
        """Return the points of both curves: cut, share answered, share of these right."""
        cuts = {"best cosine": self.cosine, "confidence": self.confidence}
        return [
            {"cut": name, "answered": share, "right": right}
            for name, cut in cuts.items()
            for share, right in zip(cut.shares, cut.accuracies, strict=True)
        ]


@with_keywords(LabelledInputs)
def abstain(
    queries: Vectors | Labelled,
    targets: Vectors | None = None,
    relevant: Labels | None = None,
    correction: str | Method = "auto",
    *,
    seeds: int = SEEDS,
    strength: float = 1.0,
    pairs: int | None = None,
    accuracy: float = ACCURACY,
    sure: float = SURE,
    progress: Progressing = None,
    **inputs: Unpack[LabelledInputs],
) -> Abstention:
    """Measure confidence on labelled queries, beside a cut at the best cosine. Parameters are as for `compare`.

    In each trial half of the test queries calibrate the model, the other half is assessed, and the other way round.
    `pairs` calibrate instead of half, 0 for none. `sure` is the chance of the guaranteed cuts. Raises `InputError` as
    `compare`, and for fewer than 20 labelled pairs.
    """
    check_chance("accuracy", accuracy)
    check_chance("sure", sure)
    if pairs and pairs < FEWEST_PAIRS:
        raise InputError("pairs", f"at least {FEWEST_PAIRS}, better 100 and more", pairs)
    given = open_labelled(queries, targets, relevant, **inputs)
    if given.pairs.matrices is not None:
        raise InputError("queries", "vectors, as confidence depends on them", "similarities")
    method = Method(correction) if isinstance(correction, str) else correction
    method.check()
    with progress_bars(progress) as steps:
        advance = steps.step("measuring confidence", seeds if given.query_bank is None else 1)
        outcomes: list[Outcomes] = []
        for seed, trial in enumerate(given.trials(Draws(seeds=seeds))):
            outcomes += folds(trial_answers(trial, method, strength), pairs, seed)
            advance(1)
    return Abstention.of(method.label, accuracy, sure, outcomes, given.notes())


def abstain_collection(
    collection: Collection, queries: Vectors, relevant: Labels, *, accuracy: float = ACCURACY, sure: float = SURE
) -> Abstention:
    """Measure the confidence of a collection, as it is served, on labelled queries (m, d) that are not in its bank.

    A query for which no target is right counts as answered wrong. Raises `InputError` without any right target.
    """
    check_chance("accuracy", accuracy)
    check_chance("sure", sure)
    model = collection.parts.cut
    strength = collection.strength
    if model is None:
        raise InputError("collection", "one with a model of confidence; build it with a query bank", "one without")
    items = as_items(queries, "queries")
    asked = collection.prepare(in_memory(items.vectors), "queries")
    known = known_rows(relevant, known_targets(collection), known_queries(items))
    check_some_right(known)
    rows = np.flatnonzero([each is not None for each in known])
    asked, right = asked[rows], [each for each in known if each is not None]
    depth = DEPTH + min(_MOST_RELEVANT, max(map(len, right)))
    raw, found = (collection.query(asked, depth, each, prepared=True) for each in (0.0, strength))
    before, after = (Answers.of(asked, each.scores, each.similarities, each.rows, right) for each in (raw, found))
    outcomes = TrialAnswers(rows, model, before, after, strength).outcomes()
    left_out = left_out_note([row for row, each in enumerate(known) if each is None], len(known), "label")
    return Abstention.of(collection.manifest.correction.name, accuracy, sure, [outcomes], left_out)


def trial_answers(trial: Trial, method: Method, strength: float = 1.0) -> TrialAnswers:
    """Return the answers to the test queries of a trial, and the model of confidence that its bank gives."""
    scorer = method.fit(trial)
    bank = trial.query_bank[:_FITTED]
    best = partial(_best, trial, scorer)
    model = fit_confidence(bank, best(bank, DEPTH, 0.0)[:2], best(bank, DEPTH, 1.0)[:2])
    depth = DEPTH + min(_MOST_RELEVANT, max(map(len, trial.relevant)))
    raw, found = (
        Answers.of(trial.queries, *best(trial.queries, depth, each), trial.relevant) for each in (0.0, strength)
    )
    return TrialAnswers(trial.rows, model, raw, found, strength)


def folds(trial: TrialAnswers, pairs: int | None, seed: int) -> Iterator[Outcomes]:
    """Calibrate by some answers of a trial, and assess the others: see `abstain`.

    Raises `InputError` for too few labelled pairs.
    """
    if pairs == 0:
        yield trial.outcomes()
        return
    count = len(trial.found.right)
    order = np.random.default_rng(seed).permutation(count)
    labelled = count // 2 if pairs is None else min(pairs, count - count // 5)
    if labelled < FEWEST_PAIRS:
        expected = f"at least {FEWEST_PAIRS} labelled pairs to calibrate by in each trial"
        raise InputError("relevant", expected, labelled)
    for fold in (order[:labelled], order[labelled:]) if pairs is None else (order[:labelled],):
        model = trial.model.calibrated_by(trial.found.some(fold), trial.strength)
        yield trial.outcomes(np.setdiff1d(order, fold), model)


def _best(trial: Trial, scorer: Scorer, queries: F32, depth: int, strength: float) -> tuple[F32, F32, I64]:
    targets, depth = trial.targets, min(depth, len(trial.targets))
    scores, near, rows = [], [], []
    step = max(1, SCORES_HELD // len(targets))
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        similarities = some @ targets.T
        given = (some, similarities, strength, scorer.offsets, scorer.query_time)
        block = corrected_scores(*given, targets.__getitem__)
        order = np.argsort(-block, axis=1, kind="stable")[:, :depth]
        folded = similarities - np.float32(strength) * scorer.offsets
        scores.append(np.take_along_axis(folded, order, axis=1))
        near.append(np.take_along_axis(similarities, order, axis=1))
        rows.append(order)
    return np.concatenate(scores), np.concatenate(near), np.concatenate(rows)


def _interval(confidence: F64, right: Flags) -> Interval:
    rows = np.arange(len(right), dtype=np.float64)

    def errors(drawn: F64) -> F64:
        return np.array([calibration_error(confidence[some], right[some]) for some in drawn.astype(np.int64)])

    return bootstrap_interval(rows, errors, resamples=_RESAMPLES)
