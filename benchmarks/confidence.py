"""Confidence as a sign of right answers on real sets: `python -m benchmarks.confidence FOLDER …`.

A folder holds `queries.npy`, `targets.npy` and `gt.npy` (the row of each query's right target), or all right pairs in
`rel_q.npy` and `rel_t.npy`. Each set is split by the strict protocol (lab/docs/lab.md), with seeds 0 to 9: the bank is
the queries whose targets are not searched. With `user.npy` the users are split instead, and all targets are searched.
No score sees a label; figures are means over the splits. Then 50, 100 and 200 test queries calibrate confidence for the
others, and cuts are tried: see `benchmarks.promises`.

Absents are test queries without their right targets. Strangers are `oos.npy`, questions to which nothing fits; else, of
a set by MiniLM, 200 queries of each other set by MiniLM that is given.

Writes `lab/docs/performance/confidence.json` and the plot in `lab/docs/confidence-measured.md`. Without folders it
takes the numbers that are there. `python -m benchmarks.figures` fills the pages in.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import promises
from benchmarks.real_sets import Set, open_set, read_side
from hubless.measures.confidence.guarantee import SURE
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import OF_QUERIES
from hubless_lab.experiments.abstain import (
    ACCURACY,
    Abstention,
    CutQuality,
    Outcomes,
    TrialAnswers,
    folds,
    trial_answers,
)
from hubless_lab.experiments.drawn_banks import Draws
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.quality import calibration_error
from hubless_lab.experiments.trials import Labelled, Pairs, Trial

PAIRS = (50, 100, 200)
SHOWN = {"hit 1 right?": "auroc", "absents": "presence", "strangers": "strangers"}
SEEDS = 10
ENCODER, STRANGERS = "minilm", 200
"""Sets whose names have this come from one encoder, and so many queries of each are strangers to the others."""
ROOT = Path(__file__).parents[1]
KEPT = ROOT / "lab" / "docs" / "performance" / "confidence.json"
PLOT = ROOT / "docs" / "images" / "promises.svg"


def measure(folder: Path, seeds: int, others: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the figures of a set: the means over the splits, and the errors of all splits together."""
    data = with_all_pairs(open_set(folder), folder)
    method = Method("auto")
    foreign = strangers(folder, others)
    trials, told = [], []
    for trial in splits(data.pairs, folder, seeds):
        trials.append(trial_answers(trial, method))
        if foreign is not None:
            beside = trial_answers(with_strangers(trial, foreign), method)
            told.append(Abstention.of("auto", ACCURACY, SURE, [beside.outcomes()]).strangers)
    return figures(data.name, trials, told)


def with_all_pairs(data: Set, folder: Path) -> Set:
    """Return the set with all right targets of each query, where the folder has them."""
    if not (folder / "rel_q.npy").is_file():
        return data
    right: list[list[int]] = [[] for _ in data.pairs.queries]
    for query, target in zip(np.load(folder / "rel_q.npy"), np.load(folder / "rel_t.npy"), strict=True):
        right[query].append(int(target))
    return replace(data, pairs=replace(data.pairs, relevant=[np.unique(np.array(rows, np.int64)) for rows in right]))


def splits(pairs: Pairs, folder: Path, seeds: int) -> Iterator[Trial]:
    """Yield strict splits, or splits of the users where queries have one, and all targets are searched."""
    if not (folder / "user.npy").is_file():
        yield from Labelled(pairs, None, None).trials(Draws(seeds=seeds))
        return
    of_queries = np.load(folder / "user.npy")
    users = np.unique(of_queries)
    for seed in range(seeds):
        drawn = np.random.default_rng(seed).permutation(users)[: len(users) // 2]
        bank = np.isin(of_queries, drawn)
        yield Trial(
            pairs=pairs,
            rows=np.setdiff1d(pairs.answerable, np.flatnonzero(bank)),
            target_rows=np.arange(len(pairs.targets)),
            query_bank=pairs.queries[bank],
        )


def strangers(folder: Path, others: Sequence[Path]) -> F32 | None:
    """Return queries to which nothing in a set fits, (s, d); None where none are known."""
    if (folder / "oos.npy").is_file():
        return read_side(folder / "oos.npy", OF_QUERIES)
    siblings = [each for each in others if ENCODER in each.name and each.resolve() != folder.resolve()]
    if ENCODER not in folder.name or not siblings:
        return None
    drawn = []
    for each in siblings:
        queries = read_side(each / "queries.npy", OF_QUERIES)
        some = np.random.default_rng(0).choice(len(queries), min(STRANGERS, len(queries)), replace=False)
        drawn.append(queries[np.sort(some)])
    return np.concatenate(drawn)


def with_strangers(trial: Trial, foreign: F32) -> Trial:
    """Return a trial whose test queries end with strangers, for which no target is right."""
    known = trial.pairs
    none = [np.empty(0, np.int64)] * len(foreign)
    rows = np.append(trial.rows, len(known.queries) + np.arange(len(foreign)))
    pairs = replace(known, queries=np.concatenate([known.queries, foreign]), relevant=[*known.relevant, *none])
    return replace(trial, pairs=pairs, rows=rows)


def figures(name: str, trials: Sequence[TrialAnswers], told: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the figures of the splits of a set. `told` are AUROC of strangers of each, by cosine and by presence."""
    each = [Abstention.of("auto", ACCURACY, SURE, [trial.outcomes()]) for trial in trials]
    found: dict[str, Any] = {"set": name, "right": _mean([one.answers_right[1] for one in each])}
    for place, kind in enumerate(("cosine", "confidence")):
        found[kind] = _figures([(getattr(one, kind), one.absents[place]) for one in each])
        if told:
            found[kind]["strangers"] = _mean([one[place] for one in told])
    for pairs in PAIRS:
        splits = [part for seed, trial in enumerate(trials) for part in folds(trial, pairs, seed)]
        whole = Outcomes(*map(np.concatenate, zip(*splits, strict=True)))
        found[f"{pairs} labels"] = {
            "error": round(calibration_error(whole.confidence, whole.right), 4),
            "of one split": _mean([calibration_error(split.confidence, split.right) for split in splits]),
            "presence": round(calibration_error(whole.presence, whole.present), 4),
        }
    return found | {"scores alone": promises.from_scores(trials), "promises": promises.promises(trials)}


def _figures(splits: Sequence[tuple[CutQuality, float]]) -> dict[str, float]:
    return {
        "auroc": _mean([cut.auroc for cut, _ in splits]),
        "answered": _mean([cut.answered for cut, _ in splits]),
        "presence": _mean([presence for _, presence in splits]),
    }


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4)


def with_mean(sets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the sets, and the mean of each figure over them."""
    means = {
        name: {
            each: float(np.mean([found[name][each] for found in sets if each in found[name]]))
            for each in {each: None for found in sets for each in found[name]}
        }
        for name, figures in sets[0].items()
        if isinstance(figures, dict) and name != "promises"
    }
    return [*sets, {"set": "mean", **means}]


def table(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table. Each pair of numbers is that of the best cosine and that of confidence."""
    yield "| AUROC | mean | worst set | better on |"
    yield "| --- | ---: | ---: | ---: |"
    for called, name in SHOWN.items():
        pairs = np.array(
            [(found["cosine"][name], found["confidence"][name]) for found in sets if name in found["cosine"]]
        )
        change = pairs[:, 1] - pairs[:, 0]
        shown = [" → ".join(f"{value:.3f}" for value in pair) for pair in (pairs.mean(axis=0), pairs[change.argmin()])]
        yield f"| {called} | {' | '.join(shown)} | {(change > 0).sum()} of {len(pairs)} |"


def sentence(sets: Sequence[Mapping[str, Any]]) -> str:
    """Return what the README says: of the cut that keeps its promise."""
    counted = promises.counted(sets)
    after, before = (100 * promises.means(counted, name)[0] for name in ("guaranteed", "cosine"))
    return (
        f"With {promises.LABELS} labels {len(counted)} real sets answer {after:.0f} % of the queries, and you are 90 % "
        f"sure that 90 % are right; with a cut at the cosine, {before:.0f} % "
        "([measured](lab/docs/confidence-measured.md))."
    )


def main() -> None:
    """Measure what is asked for, and write what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    sets = [measure(each, given.seeds, given.folders) for each in given.folders] or json.loads(KEPT.read_text())
    print(*table(sets), "", *promises.table(sets), "", *promises.by_labels(sets), "", sentence(sets), sep="\n")
    if not given.no_write:
        KEPT.write_text("[\n" + ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets) + "\n]\n")
        promises.chart(sets).save(PLOT)


if __name__ == "__main__":
    main()
