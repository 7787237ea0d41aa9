"""The gain that `diagnose` may promise without labels: `python -m benchmarks.expected_gain FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; six made-up sets, with and without hubs, are added. Each set is measured by
the strict protocol, or with its own bank, for banks of many kinds: all of it, random 30, 100, 300 and 1,000 queries,
one topic, a query and its nearest fifth, and queries whose right targets *are* in the gallery, as logged ones.

For each bank it takes the signs that `lab.held_out` reads off held-out bank queries, and the change of R@1 that
`auto` brings to labelled test queries. Then it fits the line and its interval, and tests both on sets that were left
out of the fit:

- the slope is that of the least absolute error of change against moved · evened, each set counting alike;
- the interval holds the middle 90 % of the errors of left-out sets, in units of (1 + moved in % / 10);
- banks of one topic, and of a query and its nearest, are measured and not fitted: `diagnose` is silent on their gain.

Prints the constants of `hubless.diagnosing.held_out` and tables in Markdown: of each set, with constants that were
fitted without it, and of each kind of bank, with those that ship. Writes all to
`benchmarks/results/expected_gain.json`. `--refit` reads that file instead of measuring.
"""

import argparse
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import Set, cut, hits, open_set, trial
from benchmarks.wrong_banks import nearest_fifth, one_topic
from hubless.builder.banks.bank_checks import LOW_COVERAGE
from hubless.corrections import CORRECTIONS
from hubless.diagnosing.held_out import ABOVE, BELOW, PER_MOVED, SIGN_DEPTH, SLOPE, Signs, held_out_rankings, signs
from hubless.measures.coverage import coverage
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial, open_pairs

SIZES, OWN = (30, 100, 300, 1000), (100, 300, 2000)
FEWEST = 20
SEEDS = 3
INSIDE = 0.9
SILENT = ("one topic", "nearest fifth")
"""Banks of whose gain `diagnose` says nothing."""
MADE_UP: dict[str, dict[str, Any]] = {
    "made-up: strong lean": {"spread": 4.0, "noise": 1.2, "lean": 8.0, "dim": 48},
    "made-up: slight lean": {"spread": 1.0, "noise": 1.2, "lean": 4.0, "dim": 48},
    "made-up: lean, 200 dimensions": {"spread": 1.0, "noise": 3.0, "lean": 8.0, "dim": 200},
    "made-up: lean, 12 dimensions": {"spread": 1.0, "noise": 0.6, "lean": 3.0, "dim": 12},
    "made-up: no lean": {"spread": 0.0, "noise": 1.5, "lean": 0.0, "dim": 48},
    "made-up: no lean, 200 dimensions": {"spread": 0.0, "noise": 3.0, "lean": 0.0, "dim": 200},
}
RESULTS = Path(__file__).parent / "results" / "expected_gain.json"


@dataclass(frozen=True)
class Measured:
    """One bank: what is seen without labels, and what labels say."""

    set: str
    bank: str
    queries: int
    moved: float
    evened: float
    coverage: float | None
    raw: float
    change: float

    @property
    def product(self) -> float:
        return 100 * self.moved * self.evened

    @property
    def scale(self) -> float:
        return 1 + 100 * self.moved / PER_MOVED


@dataclass(frozen=True)
class Line:
    """The constants."""

    slope: float
    below: float
    above: float

    def interval(self, row: Measured) -> tuple[float, float]:
        middle = self.slope * row.product
        return middle + self.below * row.scale, middle + self.above * row.scale


def made_up(name: str, spread: float, noise: float, lean: float, dim: int, count: int = 1200, seed: int = 7) -> Set:
    """Targets that lean, each more or less, the way all queries lean; as in docs/quickstart.md."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(count, dim))
    way = rng.normal(size=dim)
    way /= np.linalg.norm(way)
    targets = topics + rng.exponential(spread, size=(count, 1)) * way
    queries = topics + noise * rng.normal(size=topics.shape) + lean * way
    return Set(name, open_pairs(queries.astype(np.float32), targets.astype(np.float32), np.arange(count)), None)


def banks(bank: F32, seed: int) -> Iterator[tuple[str, F32]]:
    """Banks of each kind, of queries that `bank` has."""
    rng = np.random.default_rng(1000 + seed)
    yield "all", bank
    yield from ((f"{size:,}", cut(bank, size, rng)) for size in SIZES if size < len(bank))
    yield from (("one topic", part) for part in one_topic(bank, np.random.default_rng(seed)))
    yield from (("nearest fifth", part) for part in nearest_fifth(bank, np.random.default_rng(seed)))


def seen(given: Trial, bank: F32, seed: int) -> Signs:
    """The signs that `diagnose` reads off a bank."""
    held = held_out_rankings(
        CORRECTIONS["auto"](),
        ArrayVectors(bank, "bank"),
        ArrayVectors(given.targets, "targets"),
        SIGN_DEPTH,
        seed=seed,
    )
    return signs(held, len(given.targets))


def labelled(given: Trial, bank: F32) -> tuple[float, float]:
    """R@1 of the raw ranking in %, and its change by `auto` with a bank, in points."""
    found = hits(replace(given, query_bank=bank, target_bank=None), [Method("none"), Method("auto")])
    return 100 * float(found["none"].mean()), 100 * float(found["auto"].mean() - found["none"].mean())


def measure(data: Set, kinds: Collection[str] = ()) -> Iterator[Measured]:
    """All banks of a set, or those of some kinds."""
    for seed in range(SEEDS):
        given = trial(data, None, seed)
        if given is None:
            continue
        for kind, bank in banks(given.query_bank, seed):
            if kinds and kind not in kinds:
                continue
            if len(bank) >= FEWEST and not (kind == "all" and data.bank is not None and seed):
                yield measured(data.name, kind, given, bank, bank, seed)
        rng = np.random.default_rng(50 + seed)
        for size in OWN if not kinds or "logged" in kinds else ():
            count = min(size, len(given.queries), len(given.query_bank))
            logged = cut(given.queries, count, rng)
            bank = cut(given.query_bank, count, rng)
            yield measured(data.name, "logged", given, logged, bank, seed)


def measured(name: str, kind: str, given: Trial, shown: F32, bank: F32, seed: int) -> Measured:
    """Return the gain that `diagnose` expects of a bank, and the change with the bank that is fitted on."""
    raw, change = labelled(given, bank)
    covered = coverage(shown, given.targets)
    return Measured(
        name, kind, len(shown), **asdict(seen(given, shown, seed)), coverage=covered, raw=raw, change=change
    )


def weights(rows: Sequence[Measured]) -> F64:
    """Each set counts alike, and in a set each kind of bank."""
    kinds = [(row.set, row.bank) for row in rows]
    of_set = {name: len({bank for other, bank in kinds if other == name}) for name, _ in kinds}
    return np.array([1 / (of_set[name] * kinds.count((name, bank))) for name, bank in kinds])


def quantile(values: F64, weight: F64, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(reached, share)), len(values) - 1)])


def slope(rows: Sequence[Measured]) -> float:
    """The weighted median of change / product: the line through 0 with the least absolute error."""
    product, change = (np.array([getattr(row, name) for row in rows]) for name in ("product", "change"))
    kept = product != 0
    return quantile((change[kept] / product[kept]), (weights(rows) * np.abs(product))[kept], 0.5)


def fitted(rows: Sequence[Measured]) -> Line:
    """The line of these rows, its interval from sets that are left out in turn."""
    errors = np.empty(len(rows))
    for name in {row.set for row in rows}:
        others = slope([row for row in rows if row.set != name])
        for number, row in enumerate(rows):
            if row.set == name:
                errors[number] = (row.change - others * row.product) / row.scale
    outside = (1 - INSIDE) / 2
    below, above = (quantile(errors, weights(rows), share) for share in (outside, 1 - outside))
    return Line(slope(rows), below, above)


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """Of each set: measured change beside what a fit on the other sets says."""
    yield "| set | bank | measured change | expected | interval | inside |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for name in dict.fromkeys(row.set for row in rows):
        line = fitted([row for row in rows if row.set != name])
        mine = [row for row in rows if row.set == name]
        full = [row for row in mine if row.bank == "all"]
        change, middle = (np.mean([getattr(row, name) for row in full]) for name in ("change", "product"))
        low, high = np.mean([line.interval(row) for row in full], axis=0)
        inside = share_inside(line, mine)
        cells = [f"{full[0].queries:,}", f"{change:+.1f}", f"{line.slope * middle:+.1f}", f"{low:+.1f} to {high:+.1f}"]
        yield f"| {name} | {' | '.join(cells)} | {100 * inside:.0f} % of {len(mine)} |"


def by_bank(rows: Sequence[Measured], line: Line, names: Collection[str]) -> Iterator[str]:
    """Of each kind of bank, and each set with a bank of one topic: what is expected beside what is measured."""
    yield "| bank | banks | expected | measured | inside | furthest below, above |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for kind, some in kinds_of_bank([row for row in rows if row.set in names], names).items():
        if some:
            expected = line.slope * np.mean([row.product for row in some])
            change = np.array([row.change for row in some])
            low, high = np.array([line.interval(row) for row in some]).T
            furthest = f"{np.maximum(low - change, 0).max():.1f}, {np.maximum(change - high, 0).max():.1f}"
            inside = np.mean((low <= change) & (change <= high))
            cells = [str(len(some)), f"{expected:+.1f}", f"{change.mean():+.1f}", f"{100 * inside:.0f} %", furthest]
            yield f"| {kind} | {' | '.join(cells)} |"


def kinds_of_bank(rows: Sequence[Measured], names: Collection[str]) -> dict[str, list[Measured]]:
    """Return the rows of each kind of bank; those of one topic also by set, and by what they cover."""
    parts = {kind: [row for row in rows if row.bank == kind] for kind in dict.fromkeys(row.bank for row in rows)}
    narrow = parts.get("one topic", [])
    parts |= {f"one topic, {name}": [row for row in narrow if row.set == name] for name in names}
    low = [(row.coverage or 1) < LOW_COVERAGE for row in narrow]
    parts["one topic, coverage below 0.75"] = [row for row, is_low in zip(narrow, low, strict=True) if is_low]
    parts["one topic, coverage of 0.75 and more"] = [row for row, is_low in zip(narrow, low, strict=True) if not is_low]
    return parts


def names_of(rows: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(row.set for row in rows))


def share_inside(line: Line, rows: Sequence[Measured]) -> float:
    inside = [low <= row.change <= high for row in rows for low, high in [line.interval(row)]]
    return float(np.average(inside, weights=weights(rows)))


def main() -> None:
    """Measure all folders, fit and test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--bank", action="append", help="only banks of this kind; nothing is fitted")
    parser.add_argument("--refit", action="store_true", help="take what was measured before")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.refit:
        rows = [Measured(**row) for row in json.loads(given.output.read_text())["rows"]]
    else:
        rows = measure_all(given.folders, given.bank or ())
    shipped = Line(SLOPE, BELOW, ABOVE)
    print("\n".join(by_bank(rows, shipped, [name for name in names_of(rows) if name not in MADE_UP])), end="\n\n")
    if not given.bank:
        line = print_fit([row for row in rows if row.bank not in SILENT])
        said = {"line": asdict(line), "rows": [asdict(row) for row in rows]}
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(json.dumps(said, indent=1) + "\n")


def measure_all(folders: Sequence[Path], kinds: Collection[str]) -> list[Measured]:
    """Measure the sets of all folders and those that are made up, or the banks of some kinds of the former."""
    real = (open_set(folder) for folder in folders)
    made = (made_up(name, **shape) for name, shape in MADE_UP.items() if not kinds)
    return [row for data in chain(real, made) for row in measure(data, kinds)]


def print_fit(rows: Sequence[Measured]) -> Line:
    """Fit the line, and print how it does on sets that are left out of the fit."""
    line = fitted(rows)
    print("\n".join(table(rows)))
    left_out = [
        share_inside(fitted([row for row in rows if row.set != name]), [row for row in rows if row.set == name])
        for name in names_of(rows)
    ]
    print(f"\n{line}; inside, sets left out: mean {100 * np.mean(left_out):.0f} %, least {100 * min(left_out):.0f} %")
    return line


if __name__ == "__main__":
    main()
