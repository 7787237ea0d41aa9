"""The points that labelled queries save as a gate, and cost: `python -m benchmarks.label_gate FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; kinds of banks those of `benchmarks.foreign_banks`. Besides, a folder may
have all pairs of a query and a right target (`rel_q.npy`, `rel_t.npy`), how often each query was asked (`count.npy`:
then each query counts as often, and labelled ones are drawn so), the user of each query (`user.npy`: half of the users
are the bank, and all targets are searched), and lengths of targets (`length_t.npy`: measured with dot, too).

`auto` begins as a build does (`hubless.builder.banks.default_strength`). In each of 40 draws some test queries have
labels, which may stop it; the others measure. "Asked" says whether a build without labels asks for some.

Prints Markdown, a line a set and kind: the change of R@1 in points without labels, with 50, with 100, and the share of
draws that are stopped; and with `length_t.npy` hit@1 and recall@10 at each strength. Keeps it in
`docs/images/label_gate.json`.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.foreign_banks import cases
from benchmarks.gains import IMAGES, NAMES, signed
from benchmarks.real_sets import Set, print_sets
from benchmarks.wrong_banks import one_topic
from hubless.builder.banks.bank_split import split_bank
from hubless.builder.banks.default_strength import asking, first_strength, judged, said_by_labels
from hubless.builder.pipeline.survey import held_out_survey
from hubless.corrections import correction
from hubless.kernels.reductions import rankings
from hubless.measures.evenness import STRENGTHS
from hubless.progress import no_progress
from hubless.store.bundle import DecidedStrength
from hubless.vectors.arrays import F32, F64, I64, Flags
from hubless.vectors.sources import ArrayVectors
from hubless_lab.experiments.trials import Trial

LABELS, DRAWS, SEEDS, MOST_TESTS, DEPTH = (50, 100), 40, 2, 1500, 10
KEPT = IMAGES / "label_gate.json"


@dataclass(frozen=True)
class Case:
    """Test queries (m, d) with their right targets and how often each is asked (m,), targets (n, d), and a bank."""

    queries: F32
    relevant: Sequence[I64]
    weights: F64
    targets: F32
    bank: F32
    metric: str = "cosine"


def read(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npy"
    return np.load(path) if path.is_file() else None


def cases_of(data: Set, seed: int) -> Iterator[tuple[str, Case]]:
    """Kinds of banks, and the cases with them."""
    pairs, folder = data.pairs, data.folder or Path()
    users, counts = read(folder, "user"), read(folder, "count")
    relevant: Sequence[I64] = pairs.relevant
    if (of_query := read(folder, "rel_q")) is not None:
        targets = read(folder, "rel_t")
        relevant = [targets[of_query == row] for row in range(len(pairs.queries))]
    everyone = np.ones(len(pairs.queries))
    if users is not None:
        drawn = np.random.default_rng(seed).permutation(np.unique(users))
        known = np.isin(users, drawn[: len(drawn) // 2])
        tests = np.flatnonzero(~known)
        some = [relevant[row] for row in tests]
        whole = Case(pairs.queries[tests], some, everyone[tests], pairs.targets, pairs.queries[known])
        lengths = read(folder, "length_t")
        yield "full", whole
        if lengths is not None:
            stretched = (pairs.targets * lengths[:, np.newaxis]).astype(np.float32)
            yield "full, dot", replace(whole, targets=stretched, metric="dot")
    elif counts is not None and data.bank is not None:
        whole = Case(pairs.queries, relevant, everyone, pairs.targets, data.bank)
        yield "full", whole
        yield "full, by searches", replace(whole, weights=counts.astype(np.float64))
    else:
        for kind, trial in cases(data, [], seed, ""):
            if kind != "nearest fifth":
                yield kind, of_trial(trial, seed)
        return
    for bank in one_topic(whole.bank, np.random.default_rng(seed)):
        yield "one topic", replace(whole, bank=bank)


def of_trial(trial: Trial, seed: int) -> Case:
    """The case of a trial, with at most 1,500 tests."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(trial.rows))[:MOST_TESTS])
    some = [trial.relevant[row] for row in rows]
    return Case(trial.queries[rows], some, np.ones(len(rows)), trial.targets, trial.query_bank)


def measured(case: Case, seed: int) -> dict[str, Any]:
    """Changes of R@1 in points, without labels and with some."""
    targets = ArrayVectors(case.targets, "targets")
    method = correction("auto", metric=case.metric)
    bank = ArrayVectors(case.bank, "query bank")
    offsets = method.fit(bank, targets).offsets(targets)
    among = answered(case, targets, offsets - offsets.mean())
    begun = first_strength(None, targets, case.metric)
    first = {at: each[:, 0] for at, each in zip(STRENGTHS, among, strict=True)}
    made = {"": [(change(case, first, begun.value, slice(None)), False)]}
    for count in LABELS:
        if np.count_nonzero(case.weights) >= 2 * count:
            made[str(count)] = [gated(case, first, begun, count, (seed, draw)) for draw in range(DRAWS)]
    _, held = held_out_survey(method, split_bank(bank, seed), targets, None, DEPTH, no_progress)
    upheaval = held.upheaval()
    depths = np.array([min(DEPTH, max(1, len(right))) for right in case.relevant])
    return {
        "raw": 100 * float(np.average(first[0.0], weights=case.weights)),
        "changes": {name: float(np.mean([one for one, _ in each])) for name, each in made.items()},
        "stopped": {name: float(np.mean([stopped for _, stopped in each])) for name, each in made.items()},
        "asked": bool(asking(begun, *upheaval).notes),
        "upheaval": upheaval,
        "hit": [100 * float(each[:, 0].mean()) for each in among],
        "recall": [100 * float((each.sum(axis=1) / depths).mean()) for each in among],
    }


def answered(case: Case, targets: ArrayVectors, offsets: F32) -> list[NDArray[np.bool_]]:
    """Return which of the first 10 answers (m, 10) are right, at each strength."""
    scaled = [np.float32(strength) * offsets for strength in STRENGTHS]
    return [
        np.stack([np.isin(line, right) for line, right in zip(rows, case.relevant, strict=True)])
        for _, rows in rankings(case.queries, targets, DEPTH, *scaled)
    ]


def change(case: Case, first: Mapping[float, Flags], strength: float, rows: I64 | slice) -> float:
    """Return the change of R@1 of some tests, in points."""
    better = first[strength].astype(float) - first[0.0]
    return 100 * float(np.average(better[rows], weights=case.weights[rows]))


def gated(
    case: Case, first: Mapping[float, Flags], begun: DecidedStrength, count: int, seed: tuple[int, int]
) -> tuple[float, bool]:
    """Return the change of R@1 of tests without labels, after so many with labels have spoken, and if these stop it."""
    chance = case.weights / case.weights.sum()
    labelled = np.random.default_rng(seed).choice(len(chance), count, replace=False, p=chance)
    right = {at: each[labelled] for at, each in first.items()}
    if begun.by == "lengths":
        value = judged(begun, right.__getitem__).value
    else:  # the same, without the interval of its record, which takes long
        value = 0.0 if said_by_labels(right[0.0], right[begun.value]) == "harm" else begun.value
    return change(case, first, value, np.setdiff1d(np.flatnonzero(chance), labelled)), value == 0


def measure(sets: Sequence[Set], seeds: int) -> list[dict[str, Any]]:
    """A line a set and kind: means over the seeds and banks."""
    logging.getLogger("hubless.banks").setLevel(logging.ERROR)
    lines = []
    for data in sets:
        made: dict[str, list[dict[str, Any]]] = {}
        for seed in range(seeds if data.bank is None else 1):
            for kind, case in cases_of(data, seed):
                made.setdefault(kind, []).append(measured(case, seed))
        lines += [{"set": data.name, "bank": kind, "cases": len(each), **summed(each)} for kind, each in made.items()]
    return lines


FILMS = "movielens_user_film_als64"


def in_words(lines: Sequence[Mapping[str, Any]]) -> str:
    """The change of R@1 of the recommender with full banks."""
    (found,) = [each["changes"] for each in lines if (each["set"], each["bank"]) == (FILMS, "full")]
    none, fewer, more = (signed(found[name]) for name in ("", *map(str, LABELS)))
    return f"{none} without labels, {fewer} with {LABELS[0]}, {more} with {LABELS[1]}"


def summed(cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over cases."""
    names = [name for name in ("", *map(str, LABELS)) if any(name in case["changes"] for case in cases)]

    def mean(what: str, name: str) -> float:
        return round(float(np.mean([case[what][name] for case in cases if name in case[what]])), 3)

    return {
        "raw": round(float(np.mean([case["raw"] for case in cases])), 2),
        "changes": {name: mean("changes", name) for name in names},
        "stopped": {name: mean("stopped", name) for name in names},
        "asked": sum(case["asked"] for case in cases),
        "upheaval": np.mean([case["upheaval"] for case in cases], axis=0).round(2).tolist(),
        "hit": np.mean([case["hit"] for case in cases], axis=0).round(2).tolist(),
        "recall": np.mean([case["recall"] for case in cases], axis=0).round(2).tolist(),
    }


def markdown(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a set and kind of bank, then each strength where lengths differ."""
    yield "| set | bank | no labels | 50 | 100 | stopped by 50, by 100 | asked |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for found in lines:
        changes, stopped = found["changes"], found["stopped"]
        cells = [signed(changes[name], 2) if name in changes else "–" for name in ("", *map(str, LABELS))]
        halted = ", ".join(f"{100 * stopped[str(n)]:.0f} %" if str(n) in stopped else "–" for n in LABELS)
        name = NAMES.get(found["set"], found["set"]).replace("\n", " ")
        yield f"| {name} | {found['bank']} | {' | '.join(cells)} | {halted} | {found['asked']} of {found['cases']} |"
    for found in lines:
        if found["bank"] == "full, dot":
            yield ""
            yield f"| {found['set']}, dot | {' | '.join(f'{at:g}' for at in STRENGTHS)} |"
            yield "| --- |" + " ---: |" * len(STRENGTHS)
            for what in ("hit", "recall"):
                yield f"| {what} | {' | '.join(f'{each:.1f}' for each in found[what])} |"


if __name__ == "__main__":
    print_sets(__doc__, SEEDS, KEPT, measure, markdown)
