"""How well confidence tells right answers from wrong ones on real sets: `python -m benchmarks.confidence FOLDER …`.

A folder holds `queries.npy`, `targets.npy` and `gt.npy` (the row of each query's right target). Each set is split by
the strict protocol (docs/lab.md), with seeds 0 to 9: the bank is the queries whose targets are not searched. Half of
the test queries calibrate the other half, which is measured; errors are also those by 50, 100 and 200 labels alone.

Writes `docs/images/confidence.json`, the table in `docs/confidence.md` and the sentence in `README.md`. Without folders
it takes the numbers that are there.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gains import NAMES
from benchmarks.real_sets import open_set
from hubless.lab.experiments.abstain import CutQuality, abstain
from hubless.lab.experiments.trials import Labelled

PAIRS = (50, 100, 200)
SEEDS = 10
ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "images" / "confidence.json"
PAGE, README = ROOT / "docs" / "confidence.md", ROOT / "README.md"
TABLE = re.compile(r"(?s)(?<=The table:\n\n)\|.*?\n(?=\n)")
SENTENCE = re.compile(r"(?s)Each answer says how likely its first hit\s+is\s+right\..*?\(docs/confidence\.md\)\)\.")


def measure(folder: Path, seeds: int) -> dict[str, Any]:
    """Return the figures of a set."""
    data = open_set(folder)
    given = Labelled(data.pairs, None, None)
    by_half = abstain(given, seeds=seeds, progress=False)
    found: dict[str, Any] = {"set": data.name, "queries": by_half.queries, "right": round(by_half.answers_right[1], 4)}
    found["cosine"] = _figures(by_half.cosine, by_half.presence_cosine)
    found["confidence"] = _figures(by_half.confidence, by_half.presence)
    for pairs in PAIRS:
        result = abstain(given, seeds=seeds, pairs=pairs, progress=False)
        errors = {"error": result.error, "of one": result.error_of_one, "presence": result.presence_error}
        found[f"{pairs} labels"] = {name: round(value or 0.0, 4) for name, value in errors.items()}
    return found


def _figures(cut: CutQuality, presence: float) -> dict[str, float]:
    return {"auroc": round(cut.auroc, 4), "answered": round(cut.answered, 4), "presence": round(presence, 4)}


def with_mean(sets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the sets, and the mean of each figure over them."""
    means = {
        name: {each: float(np.mean([found[name][each] for found in sets])) for each in figures}
        for name, figures in sets[0].items()
        if isinstance(figures, dict)
    }
    return [*sets, {"set": "mean", **means}]


def table(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table. Each pair of numbers is that of the best cosine and that of confidence."""
    yield "| set | hit 1 right? | answered | right one there? | calibration error |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for found in with_mean(sets):
        cosine, confidence = found["cosine"], found["confidence"]
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
        f"Each answer says how likely its first hit is right. On {len(sets)} real sets you can answer {after:.0f} % of "
        f"the queries with 90 % right; with a threshold on cosines, {before:.0f} % ([confidence](docs/confidence.md))."
    )


def main() -> None:
    """Measure what is asked for, and write what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    sets = [measure(folder, given.seeds) for folder in given.folders] or json.loads(KEPT.read_text())
    print(*table(sets), "", sentence(sets), sep="\n")
    if not given.no_write:
        KEPT.write_text("[\n" + ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets) + "\n]\n")
        rows = "\n".join(table(sets)) + "\n"
        PAGE.write_text(TABLE.sub(lambda _: rows, PAGE.read_text("utf-8")), "utf-8")
        README.write_text(SENTENCE.sub(lambda _: sentence(sets), README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
