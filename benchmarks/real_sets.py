"""Changes of R@1 by corrections on real sets: `python -m benchmarks.real_sets FOLDER [FOLDER ...]`.

A folder holds `queries.npy`, `targets.npy`, `gt.npy` (the row of each query's right target), and perhaps `bank.npy`,
a query bank from elsewhere. With `bank.npy`, all queries search all targets. Without it the strict protocol is used
(lab/docs/lab.md). Banks are cut at random to each size; under the strict protocol the target bank too. Everything is
repeated with seeds 0, 1, …. The error is the standard error over the seeds, or over the queries where nothing is
random.

Prints Markdown; writes all numbers to `benchmarks/results/real_sets.json`.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless import measures
from hubless.errors import InputError
from hubless.measures import paired_difference
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import COSINE, OF_QUERIES, ComparedSide
from hubless.vectors.files import as_items
from hubless.vectors.sources import in_memory, under_metric
from hubless_lab.experiments.methods import Method, as_methods, grid_methods
from hubless_lab.experiments.trials import Pairs, Trial, banked_trial, open_labelled, strict_trial
from hubless_lab.experiments.tune import tune

SIZES = (100, 300, 1000, None)
"""Rows of the bank; None is all of it."""
CORRECTIONS = ("auto", "csls", "nnn", "is", "sn", "dbsn")
RESULTS = Path(__file__).parent / "results" / "real_sets.json"
Result = Mapping[str, Any]
"""What is kept of a set."""


@dataclass(frozen=True)
class Set:
    """A real set, and its bank from elsewhere if it has one: of a log also how often queries were asked.

    `asked` are counts of the bank (b,) and of the queries (m,), 0 where nobody knows; `right` all right targets of each
    of the queries. `folder` is where it came from.
    """

    name: str
    pairs: Pairs
    bank: F32 | None
    asked: tuple[I64, I64] | None = None
    right: list[I64] | None = None
    folder: Path | None = None


def read_side(path: Path, side: ComparedSide) -> F32:
    """Return all rows of a file, each of length 1."""
    return in_memory(under_metric(as_items(path, path.stem).vectors, COSINE, side))


def open_set(folder: Path) -> Set:
    """Read a folder."""
    files = (folder / f"{name}.npy" for name in ("queries", "targets", "gt"))
    pairs = open_labelled(*files, metric="cosine").pairs
    bank = folder / "bank.npy"
    rows = read_side(bank, OF_QUERIES) if bank.is_file() else None
    asked = right = None
    if (folder / "bank_count.npy").is_file():
        asked = np.load(folder / "bank_count.npy").astype(np.int64), np.load(folder / "count.npy").astype(np.int64)
        queries, targets = (np.load(folder / f"rel_{side}.npy") for side in "qt")
        right = [targets[queries == row] for row in range(len(pairs.queries))]
    return Set(folder.resolve().name, pairs, rows, asked, right, folder)


def trial(data: Set, size: int | None, seed: int) -> Trial | None:
    """Return one split with its banks cut to a size, or None if the bank is smaller."""
    whole = strict_trial(data.pairs, seed) if data.bank is None else banked_trial(data.pairs, data.bank)
    if size is None:
        return whole
    if len(whole.query_bank) <= size:
        return None
    rng = np.random.default_rng(1000 + seed)
    return replace(
        whole,
        query_bank=cut(whole.query_bank, size, rng),
        target_bank=None if whole.target_bank is None else cut(whole.target_bank, size, rng),
    )


def cut(rows: F32, size: int, rng: np.random.Generator) -> F32:
    """Return this many rows at random."""
    return rows[np.sort(rng.choice(len(rows), min(size, len(rows)), replace=False))]


def hits(given: Trial, entries: Sequence[Method]) -> dict[str, np.ndarray]:
    """Return for each correction whether it puts the right target of each test query first."""
    scorers = {}
    for entry in entries:
        try:
            scorers[entry.label] = given.fit(entry.correction())
        except InputError:
            continue
    found = {label: np.empty(len(given.rows), bool) for label in scorers}
    labels = list(scorers)
    for number, block, scores in given.rankings(list(scorers.values())):
        found[labels[number]][block] = measures.ranks(scores, given.relevant[block]) <= 1
    return found


def measure(data: Set, size: int | None, seeds: int, entries: Sequence[Method]) -> dict[str, Any] | None:
    """Return raw R@1, and the change by each correction: mean and standard error over the seeds, in points."""
    repeats = 1 if data.bank is not None and size is None else seeds
    changes: dict[str, list[float]] = {}
    errors: dict[str, float] = {}
    raw = []
    bank = 0
    for seed in range(repeats):
        given = trial(data, size, seed)
        if given is None:
            return None
        bank = len(given.query_bank)
        found = hits(given, [Method("none"), *entries])
        raw.append(100 * found["none"].mean())
        for label, right in found.items():
            changes.setdefault(label, []).append(100 * (right.mean() - found["none"].mean()))
        if repeats == 1:
            errors = {name: 100 * paired_difference(found["none"], right).error for name, right in found.items()}
    if repeats > 1:
        errors = {label: float(np.std(values, ddof=1) / np.sqrt(repeats)) for label, values in changes.items()}
    return {
        "set": data.name,
        "bank": bank,
        "size": size,
        "repeats": repeats,
        "raw": float(np.mean(raw)),
        "changes": {label: {"mean": float(np.mean(v)), "error": errors[label]} for label, v in changes.items()},
    }


def tuned(data: Set, seeds: int) -> dict[str, Any]:
    """Return what `tune` finds with labels: its choice, the best candidate, and the held-out gain."""
    pairs = data.pairs
    found = tune(pairs.queries, pairs.targets, pairs.relevant, metric="cosine", query_bank=data.bank, seeds=seeds)
    raw = found.candidates[0].recall_at_1
    chosen = next(c for c in found.candidates if c.label == Method(found.correction, found.parameters).label)
    best = next(c for c in found.candidates if c.label == found.best)
    return {
        "set": data.name,
        "chosen": chosen.label,
        "change": 100 * (chosen.recall_at_1 - raw),
        "held_out": 100 * found.gain.value,
        "held_out_error": 100 * found.gain.error,
        "best": best.label,
        "best_change": 100 * (best.recall_at_1 - raw),
        "tried": found.tried,
    }


def markdown(rows: Sequence[dict[str, Any]], labels: Sequence[str], choices: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Return the tables."""
    yield f"| set | bank | raw R@1 | {' | '.join(labels)} |"
    yield "| --- | ---: | ---: |" + " ---: |" * len(labels)
    for row in rows:
        changes = row["changes"]
        cells = [
            f"{changes[label]['mean']:+.1f} ± {changes[label]['error']:.1f}" if label in changes else "–"
            for label in labels
        ]
        yield f"| {row['set']} | {row['bank']:,} | {row['raw']:.1f} | {' | '.join(cells)} |"
    if choices:
        yield ""
        yield "| set | tune chooses | its change | on held-out queries | the best candidate | its change | tried |"
        yield "| --- | --- | ---: | ---: | --- | ---: | ---: |"
        for c in choices:
            held_out = f"{c['held_out']:+.1f} ± {c['held_out_error']:.1f}"
            cells = [c["set"], c["chosen"], f"{c['change']:+.1f}", held_out, c["best"], f"{c['best_change']:+.1f}"]
            yield f"| {' | '.join(cells)} | {c['tried']} |"


def of_each(measure: Callable[[Set, int], Result]) -> Callable[[Sequence[Set], int], Sequence[Result]]:
    """Return what measures several sets by one that measures a set."""
    return lambda sets, seeds: [measure(data, seeds) for data in sets]


def print_sets(
    about: str | None,
    seeds: int,
    output: Path,
    measure: Callable[[Sequence[Set], int], Sequence[Result]],
    markdown: Callable[[Sequence[Result]], Iterator[str]],
) -> None:
    """Measure the folders that the command line names, if any, and keep the results, a line a set. Print the tables."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--output", type=Path, default=output)
    given = parser.parse_args()
    if given.folders:
        sets = measure([open_set(folder) for folder in given.folders], given.seeds)
        lines = ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets)
        given.output.write_text(f'{{"sets": [\n{lines}\n]}}\n')
    print("\n".join(markdown(json.loads(given.output.read_text())["sets"])))


def keep_by_set(
    about: str | None,
    kept: Path,
    measure: Callable[[Path], Result],
    table: Callable[[Mapping[str, Any]], Iterator[str]],
) -> None:
    """Measure the folders that the command line names, if any, and keep the figures by set. Print the table."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    sets = {folder.resolve().name: measure(folder) for folder in parser.parse_args().folders}
    if sets:
        kept.write_text(json.dumps(sets, indent=1) + "\n", "utf-8")
    print(*table(json.loads(kept.read_text("utf-8"))), sep="\n")


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--correction", action="append", help="default: " + " ".join(CORRECTIONS))
    parser.add_argument("--all", action="store_true", help="every candidate of tune, too")
    parser.add_argument("--no-tune", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    choices = []
    for folder in given.folders:
        data = open_set(folder)
        entries = as_methods(given.correction or CORRECTIONS)
        for size in SIZES:
            more = grid_methods(size or 1000, data.bank is None)[1:] if given.all else []
            row = measure(data, size, given.seeds, list({e.label: e for e in [*entries, *more]}.values()))
            if row is not None:
                rows.append(row)
        if not given.no_tune:
            choices.append(tuned(data, given.seeds))
    labels = list(dict.fromkeys(label for row in rows for label in row["changes"] if label != "none"))
    print("\n".join(markdown(rows, labels, choices)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({"rows": rows, "tuned": choices}, indent=2) + "\n")


if __name__ == "__main__":
    main()
