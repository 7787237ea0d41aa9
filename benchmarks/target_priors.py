"""Changes of R@1 by what clicks choose: `python -m benchmarks.target_priors [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; `rel_q.npy` and `rel_t.npy` have all pairs of a query and a right target,
`user.npy` who asked, `count.npy` how often. Clicks are made, on right targets:

- *others*: 1,000 clicks of half of the queries, or of the users. How often a target is wanted follows Zipf's law,
  s = 1, or `count`. Tests are the other half, weighted by how often their targets are wanted.
- *log*: 1,000 clicks of queries that are drawn from Zipf's law, as are the tests, which may ask the same again.
- *retyped*: the same, and each query of log and tests is jittered to a cosine of 0.9, as people word it differently.
- *first*: 30 % of all clicks go to the first raw hit, whatever it is. Positions are known.

The queries of the clicks are the bank. *200* are fewer clicks.

Means over the seeds, in points of R@1 against raw.

Prints Markdown. Everything is kept in `docs/images/target_priors.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gains import IMAGES, signed
from benchmarks.real_sets import Set, of_each, print_sets
from hubless.builder.inputs.bank_table import BankTable
from hubless.builder.inputs.build_vectors import BuildVectors
from hubless.builder.inputs.clicks import Clicks
from hubless.builder.pipeline.click_choice import PLAIN, RAW, chosen_by_clicks
from hubless.builder.recipe import Recipe
from hubless.corrections.fits import fit_each
from hubless.corrections.target_columns import NO_COLUMNS, offsets_each
from hubless.errors import InputError
from hubless.measures.repeats import without_copies
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import HeldVectors
from hubless.vectors.space import Space

SEEDS = 2
KEPT = IMAGES / "target_priors.json"
CLICKS = 1000
CASES = {
    "others": ("others", CLICKS, 0.0),
    "log": ("log", CLICKS, 0.0),
    "log, 200": ("log", 200, 0.0),
    "retyped": ("retyped", CLICKS, 0.0),
    "log, first": ("log", CLICKS, 0.3),
    "retyped, first": ("retyped", CLICKS, 0.3),
}
TESTS = 4000
JITTERED = 0.9
RECIPE = Recipe(metric="cosine")


class Wanted(NamedTuple):
    """Who wants what: pairs (p,) of a query and a right target, and how often each is wanted, in any unit."""

    queries: I64
    targets: I64
    often: F64


class Made(NamedTuple):
    """Clicks that were made, the queries (m, d) that asked, and tests: queries, pairs of a test and a right target."""

    asked: F32
    clicks: Clicks
    tests: F32
    right: tuple[I64, I64]
    weights: F64


def zipf(count: int, rng: np.random.Generator) -> F64:
    """Return how often each of so many is wanted by Zipf's law, s = 1, in random order."""
    return rng.permutation(1 / np.arange(1, count + 1))


def _read(data: Set, name: str) -> Any:
    path = None if data.folder is None else data.folder / f"{name}.npy"
    return np.load(path) if path is not None and path.exists() else None


def pairs_of(data: Set) -> tuple[I64, I64]:
    """Return all pairs of a query and a right target."""
    queries, targets = _read(data, "rel_q"), _read(data, "rel_t")
    if queries is not None:
        return queries.astype(np.int64), targets.astype(np.int64)
    rows = data.pairs.relevant
    return np.repeat(np.arange(len(rows)), [len(each) for each in rows]), np.concatenate(rows)


def make(data: Set, kind: str, count: int, first: float, seed: int) -> Made:
    """Make clicks and tests."""
    rng = np.random.default_rng(seed)
    vectors, targets = data.pairs.queries, data.pairs.targets
    queries, right = pairs_of(data)
    answerable = np.unique(queries)
    if kind == "others":
        user, often = _read(data, "user"), _read(data, "count")
        who = np.arange(len(vectors)) if user is None else user
        people = rng.permutation(np.unique(who[answerable]))
        ours = np.isin(who[queries], people[::2])
        wanted = zipf(len(targets), rng)[right] if often is None else often[queries].astype(np.float64)
        drawn = _drawn(queries, right, wanted * ours, count, rng)
        tested = np.unique(queries[~ours])
        weights = np.bincount(queries, wanted, len(vectors))[tested]
        pairs = np.searchsorted(tested, queries[~ours]), right[~ours]
        return Made(vectors, _clicks(vectors, targets, *drawn, first, rng), vectors[tested], pairs, weights)
    wanted = np.zeros(len(vectors))
    wanted[answerable] = zipf(len(answerable), rng)
    each = wanted / np.maximum(np.bincount(queries, minlength=len(vectors)), 1)
    drawn = _drawn(queries, right, each[queries], count, rng)
    tests = rng.choice(len(vectors), TESTS, p=wanted / wanted.sum())
    asked, tested = vectors, vectors[tests]
    if kind == "retyped":
        asked, tested = (_jittered(some, rng) for some in (vectors[drawn[0]], tested))
        drawn = np.arange(count), drawn[1]
    starts = np.searchsorted(np.sort(queries), tests), np.searchsorted(np.sort(queries), tests, "right")
    order = np.argsort(queries, kind="stable")
    rows = [order[start:stop] for start, stop in zip(*starts, strict=True)]
    pairs = np.repeat(np.arange(TESTS), [len(each) for each in rows]), right[np.concatenate(rows)]
    return Made(asked, _clicks(asked, targets, *drawn, first, rng), tested, pairs, np.ones(TESTS))


def _drawn(queries: I64, right: I64, wanted: F64, count: int, rng: np.random.Generator) -> tuple[I64, I64]:
    rows = rng.choice(len(queries), count, p=wanted / wanted.sum())
    return queries[rows], right[rows]


def _jittered(rows: F32, rng: np.random.Generator) -> F32:
    away = rng.normal(size=rows.shape)
    away -= (away * rows).sum(axis=1, keepdims=True) * rows
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    return (JITTERED * rows + np.sqrt(1 - JITTERED**2) * away).astype(np.float32)


def _clicks(asked: F32, targets: F32, queries: I64, chosen: I64, first: float, rng: np.random.Generator) -> Clicks:
    best = (asked[queries] @ targets.T).argmax(axis=1)
    chosen = np.where(rng.random(len(chosen)) < first, best, chosen)
    return Clicks(queries, chosen, np.ones(len(chosen)), (chosen == best) & (first > 0))


def recall(made: Made, targets: F32, h: F32 | float) -> float:
    """R@1 in per cent: any right target is first."""
    best = (made.tests @ targets.T - h).argmax(axis=1)
    tests, right = made.right
    hits = np.bincount(tests, best[tests] == right, len(best)) > 0
    return 100 * float(np.average(hits, weights=made.weights))


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return of each case raw R@1 in per cent, its changes in points, and what was chosen, one a seed."""
    targets = data.pairs.targets
    source = HeldVectors(targets, "targets")
    cases: dict[str, dict[str, list[Any]]] = {}
    for name, (kind, count, first) in CASES.items():
        for seed in range(seeds):
            made = make(data, kind, count, first, seed)
            bank = without_copies(HeldVectors(made.asked[made.clicks.queries], "query bank"))
            known = HeldVectors(made.asked, "clicks")
            asked = BankTable(bank, np.ones(bank.shape[0], np.int64), [])
            space = Space(RECIPE.metric, source.shape[1])
            vectors = BuildVectors(space=space, targets=source, bank=asked, clicked=known, clicks=made.clicks)
            try:
                vectors, record = chosen_by_clicks(vectors, RECIPE)
                chosen = RAW if record is None else record.chosen
            except InputError:  # too few queries: raw, as nothing is built
                chosen = RAW
            raw = recall(made, targets, 0.0)
            by = {}
            for columns in (NO_COLUMNS, vectors.columns):
                fits = fit_each(RECIPE.method, [bank], source, None, columns)
                by[columns is NO_COLUMNS] = recall(made, targets, offsets_each(fits, source, columns)[0]) - raw
            found = {"raw": raw, "auto": by[True], "clicks": 0.0 if chosen == RAW else by[chosen == PLAIN]}
            for what, value in found.items():
                cases.setdefault(name, {}).setdefault(what, []).append(round(value, 3))
            cases[name].setdefault("chosen", []).append(chosen)
    return {"set": data.name, "cases": cases}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each case: means over the sets, and the worst."""
    yield "| clicks | `auto`: mean (worst) | by clicks |"
    yield "| --- | ---: | ---: |"
    for case in CASES:
        cells = []
        for what in ("auto", "clicks"):
            means = [float(np.mean(found["cases"][case][what])) for found in sets]
            cells.append(f"{signed(float(np.mean(means)))} ({signed(min(means))})")
        yield f"| {case} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
