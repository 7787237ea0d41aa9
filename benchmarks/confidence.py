"""Confidence as a sign of right answers on real sets: `python -m benchmarks.confidence FOLDER …`.

A folder holds `queries.npy`, `targets.npy` and `gt.npy` (the row of each query's right target). Each set is split by
the strict protocol (docs/lab.md), with seeds 0 to 9: the bank is the queries whose targets are not searched. No score
sees a label; figures are means over the splits. Then 50, 100 and 200 test queries calibrate confidence for the others,
and cuts are tried: see `benchmarks.promises`.

Writes `docs/performance/confidence.json` and the plot in `docs/confidence.md`. Without folders it takes the numbers
that are there. `python -m benchmarks.figures` fills the pages in.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import promises
from benchmarks.gains import NAMES
from benchmarks.real_sets import open_set
from hubless.measures.confidence.guarantee import SURE
from hubless.measures.confidence.quality import calibration_error
from hubless_lab.experiments.abstain import (
    ACCURACY,
    Abstention,
    CutQuality,
    Outcomes,
    TrialAnswers,
    folds,
    trial_answers,
)
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Labelled

PAIRS = (50, 100, 200)
SEEDS = 10
ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "performance" / "confidence.json"
PLOT = ROOT / "docs" / "images" / "promises.svg"


def measure(folder: Path, seeds: int) -> dict[str, Any]:
    """Return the figures of a set: the means over the splits, and the errors of all splits together."""
    data = open_set(folder)
    method = Method("auto")
    return figures(
        data.name, [trial_answers(trial, method) for trial in Labelled(data.pairs, None, None).trials(seeds)]
    )


def figures(name: str, trials: Sequence[TrialAnswers]) -> dict[str, Any]:
    """Return the figures of the splits of a set."""
    each = [Abstention.of("auto", ACCURACY, SURE, [trial.outcomes()]) for trial in trials]
    found: dict[str, Any] = {"set": name, "right": _mean([one.answers_right[1] for one in each])}
    found["cosine"] = _figures([(one.cosine, one.presence_cosine) for one in each])
    found["confidence"] = _figures([(one.confidence, one.presence) for one in each])
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
        name: {each: float(np.mean([found[name][each] for found in sets])) for each in figures}
        for name, figures in sets[0].items()
        if isinstance(figures, dict) and name != "promises"
    }
    return [*sets, {"set": "mean", **means}]


def table(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table. Each pair of numbers is that of the best cosine and that of confidence."""
    yield "| set | hit 1 right? | answered | right one there? | calibration error |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for found in with_mean(sets):
        cosine = found["cosine"]
        confidence = found["confidence"]
        cells = [
            NAMES.get(found["set"], found["set"]).replace("\n", " "),
            f"{cosine['auroc']:.3f} → {confidence['auroc']:.3f}",
            f"{100 * cosine['answered']:.0f} → {100 * confidence['answered']:.0f} %",
            f"{cosine['presence']:.3f} → {confidence['presence']:.3f}",
            ", ".join(f"{found[f'{pairs} labels']['error']:.3f}" for pairs in PAIRS),
        ]
        yield f"| {' | '.join(f'**{cell}**' if found['set'] == 'mean' else cell for cell in cells)} |"


def sentence(sets: Sequence[Mapping[str, Any]]) -> str:
    """Return what the README says."""
    mean = with_mean(sets)[-1]
    before, after = (100 * mean[name]["answered"] for name in ("cosine", "confidence"))
    return (
        f"On {len(sets)} real sets you can answer {after:.0f} % of the queries and have 90 % of the answers right; "
        f"with a cut at the cosine, {before:.0f} % ([measured](docs/confidence.md))."
    )


def main() -> None:
    """Measure what is asked for, and write what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    sets = [measure(folder, given.seeds) for folder in given.folders] or json.loads(KEPT.read_text())
    print(*table(sets), "", *promises.table(sets, NAMES), "", sentence(sets), sep="\n")
    if not given.no_write:
        KEPT.write_text("[\n" + ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets) + "\n]\n")
        promises.chart(sets).save(PLOT)


if __name__ == "__main__":
    main()
