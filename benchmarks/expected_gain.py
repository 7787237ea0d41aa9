"""The words of `diagnose` on a gain without labels, and what comes: `python -m benchmarks.expected_gain [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; right targets are all of `rel_q.npy` and `rel_t.npy` where these are, and
`user.npy` holds users apart, who are asked for or in the bank. From each set more are made: the other way round, and
with an eighth of the dimensions, by the largest eigenvectors of both sides. Made-up sets with and without hubs are
added, made-up recommenders, whose users find popular items rightly, and the data of docs/quickstart.md.

Each set is asked by the strict protocol, or with its own bank, for six kinds of bank: all of it, random 300 and 100,
one topic, a log by Zipf's law with copies, and one with paraphrases, as in `benchmarks.query_logs`. The word is that of
`hubless.diagnose`; the change of R@1 by `auto` is that of labelled queries, of a log by demand.

Nothing is fitted: the constants of `hubless.diagnosing.held_out` are by hand, with room on both sides. Prints what came
of each word, in Markdown. All is kept in `lab/docs/performance/expected_gain.json`; without folders it
prints what is kept.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hubless
from benchmarks.query_logs import jittered
from benchmarks.real_sets import Set, cut, hits, open_set, trial
from benchmarks.wrong_banks import FEWEST, one_topic
from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Pairs, Trial, demand_trial, open_labelled

MOST, SEED = 1900, 0
"""Queries of a set, and one random split of it."""
EXPONENT, TOPICS = 1.15, 2
KINDS = ("all", "random 300", "random 100", "one topic", "log", "log of paraphrases")
OUTCOMES = ("< 1", "1 to 2", "> 2")
WORDS = ("nothing", "some", "much", "unknown")
LITTLE, MUCH = 1.0, 2.0
"""Points of R@1 that "nothing" stays below, and "much" is above."""
KEPT = Path(__file__).parents[1] / "lab" / "docs" / "performance" / "expected_gain.json"
MADE_UP: Mapping[str, Mapping[str, Any]] = {
    "strong lean": {"spread": 4.0, "noise": 1.2, "lean": 8.0, "dim": 48},
    "slight lean": {"spread": 1.0, "noise": 1.2, "lean": 4.0, "dim": 48},
    "lean, 200 dimensions": {"spread": 1.0, "noise": 3.0, "lean": 8.0, "dim": 200},
    "lean, 12 dimensions": {"spread": 1.0, "noise": 0.6, "lean": 3.0, "dim": 12},
    "no lean": {"spread": 0.0, "noise": 1.5, "lean": 0.0, "dim": 48},
    "no lean, 200 dimensions": {"spread": 0.0, "noise": 3.0, "lean": 0.0, "dim": 200},
}
RECOMMENDERS = {"even": 0.5, "uneven": 1.2, "very uneven": 2.0}
"""How much popularity counts beside taste."""


def unit(rows: F32) -> F32:
    """Rows of length 1."""
    scaled: F32 = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def made_up(spread: float, noise: float, lean: float, dim: int, count: int = 1200) -> Set:
    """Targets that lean, each more or less, the way all queries lean; as in docs/quickstart.md."""
    rng = np.random.default_rng(7)
    topics = rng.normal(size=(count, dim))
    way = rng.normal(size=dim)
    way /= np.linalg.norm(way)
    targets = topics + rng.exponential(spread, size=(count, 1)) * way
    queries = topics + noise * rng.normal(size=topics.shape) + lean * way
    vectors = (each.astype(np.float32) for each in (queries, targets))
    return Set("made-up", open_labelled(*vectors, np.arange(count), metric="cosine").pairs, None)


def quickstart() -> Set:
    """The data of docs/quickstart.md."""
    rng = np.random.default_rng(0)
    themes = rng.normal(size=(20, 64))
    topics = themes[rng.integers(20, size=3000)] + rng.normal(size=(3000, 64))
    lean = rng.normal(size=64)
    lean /= np.linalg.norm(lean)
    targets = topics + rng.exponential(4, size=(3000, 1)) * lean
    queries = topics + 1.5 * rng.normal(size=topics.shape) + 8 * lean
    pairs = open_labelled(unit(queries[:MOST]), unit(targets[:2000]), np.arange(MOST), metric="cosine").pairs
    return Set("quickstart", pairs, unit(queries[2000:]))


def recommender(popularity: float, users: int = 1600, items: int = 900, liked: int = 20, dim: int = 32) -> Set:
    """Users like items by taste and popularity; half of what they like makes the factors, by a singular value split."""
    rng = np.random.default_rng(5)
    taste, wants = rng.normal(size=(items, 16)), rng.normal(size=(users, 16))
    drawn = wants @ taste.T * 1.5 / 4 + popularity * rng.exponential(size=items) + rng.gumbel(size=(users, items))
    likes = np.argsort(-drawn, axis=1)[:, :liked]
    known = np.zeros((users, items), np.float32)
    np.put_along_axis(known, likes[:, ::2], 1, axis=1)
    known, places = known[:, known.any(axis=0)], np.cumsum(known.any(axis=0)) - 1
    there = np.bincount(likes[:, ::2].ravel(), minlength=items) > 0
    left, values, right = np.linalg.svd(known, full_matrices=False)
    vectors = unit(left[:, :dim] * values[:dim]), unit(right[:dim].T * np.sqrt(values[:dim]))
    labels = [places[row[there[row]]].tolist() for row in likes]
    half = users // 2
    pairs = open_labelled(vectors[0][:half], vectors[1], labels[:half], metric="cosine").pairs
    return Set("recommender", pairs, vectors[0][half:])


def read(folder: Path) -> Set:
    """A folder with all its right targets, and at most so many queries; users are either asked for or in the bank."""
    data = open_set(folder)
    pairs, bank = data.pairs, data.bank
    if (folder / "rel_q.npy").is_file():
        found, right = np.load(folder / "rel_q.npy"), np.load(folder / "rel_t.npy")
        pairs = replace(pairs, relevant=[right[found == row] for row in range(len(pairs.queries))])
    rng = np.random.default_rng(SEED)
    rows = np.sort(rng.permutation(len(pairs.queries))[:MOST])
    if (folder / "user.npy").is_file():
        users = np.load(folder / "user.npy")
        in_bank = np.isin(users, rng.permutation(np.unique(users))[::2])
        bank, rows = pairs.queries[in_bank], np.flatnonzero(~in_bank)
    return Set(data.name, taken(pairs, rows), bank)


def taken(pairs: Pairs, rows: Any) -> Pairs:
    """Some queries of pairs."""
    return replace(pairs, queries=pairs.queries[rows], relevant=[pairs.relevant[row] for row in rows])


def turned(data: Set) -> Set:
    """The other way round: targets that are right for a query ask, and queries are found."""
    asking: dict[int, list[int]] = {}
    for query, right in enumerate(data.pairs.relevant):
        for target in right.tolist():
            asking.setdefault(target, []).append(query)
    rows = sorted(asking)
    pairs = open_labelled(
        data.pairs.targets[rows], data.pairs.queries, [asking[row] for row in rows], metric="cosine"
    ).pairs
    return Set(f"{data.name}, turned round", taken(pairs, np.arange(min(MOST, len(rows)))), None)


def smaller(data: Set) -> Set:
    """With an eighth of the dimensions."""
    both = np.concatenate([data.pairs.queries, data.pairs.targets])
    basis = np.linalg.eigh(both.T @ both)[1][:, -(both.shape[1] // 8) :]
    queries, targets = (unit(rows @ basis) for rows in (data.pairs.queries, data.pairs.targets))
    bank = None if data.bank is None else unit(data.bank @ basis)
    return Set(f"{data.name}, an eighth", replace(data.pairs, queries=queries, targets=targets), bank)


def sets(folders: Sequence[Path]) -> Iterator[tuple[str, Set]]:
    """All sets, each with the family that is left out together."""
    for folder in folders:
        data = read(folder)
        yield data.name, data
        if not (folder / "user.npy").is_file():
            yield data.name, turned(data)
            yield data.name, smaller(data)
    yield from (("made-up", replace(made_up(**shape), name=f"made-up: {name}")) for name, shape in MADE_UP.items())
    yield "made-up", quickstart()
    for name, popularity in RECOMMENDERS.items():
        yield "recommender", replace(recommender(popularity), name=f"recommender: {name}")


def cases(data: Set) -> Iterator[tuple[str, Trial, F32]]:
    """Each kind of bank, with the trial that is asked."""
    given = trial(data, None, SEED)
    rng = np.random.default_rng(1000 + SEED)
    if given is not None and len(given.query_bank) >= FEWEST:
        bank = given.query_bank
        yield KINDS[0], given, bank
        for size, kind in zip((300, 100), KINDS[1:3], strict=True):
            if len(bank) > size:
                yield kind, given, cut(bank, size, rng)
        yield from ((KINDS[3], given, part) for part in one_topic(bank, np.random.default_rng(SEED))[:TOPICS])
    log = demand_trial(data.pairs, EXPONENT, SEED)
    yield KINDS[4], log, log.query_bank
    again = np.setdiff1d(np.arange(len(log.query_bank)), np.unique(log.query_bank, axis=0, return_index=True)[1])
    typed = log.query_bank.copy()
    typed[again] = jittered(typed[again], rng)
    yield KINDS[5], log, typed


def measured(given: Trial, bank: F32) -> dict[str, Any]:
    """Return what is said without labels, and what labels say."""
    said = hubless.diagnose(given.targets, bank, metric="cosine", bank_of_targets=True, progress=False)
    found = hits(replace(given, query_bank=bank, target_bank=None), [Method("none"), Method("auto")])
    raw, auto = (100 * float(found[label].mean()) for label in ("none", "auto"))
    numbers = {"changed": said.changed, "given_up": said.given_up}
    numbers |= {name: said.auto.get(name, 0.0) for name in ("linearity", "unevenness")}
    rounded = {name: round(value, 4) for name, value in numbers.items()}
    return {"queries": len(bank), "word": said.outlook, **rounded, "raw": round(raw, 2), "change": round(auto - raw, 2)}


def measure(folders: Sequence[Path], output: Path) -> None:
    """Measure all, and keep a line a bank."""
    lines = []
    for family, data in sets(folders):
        for kind, given, bank in cases(data):
            try:
                found = measured(given, bank)
            except InputError as error:
                print(f"{data.name}, {kind}: {error}")
                continue
            lines.append(json.dumps({"family": family, "set": data.name, "bank": kind, **found}))
            print(lines[-1], flush=True)
    output.write_text('{"banks": [\n' + ",\n".join(lines) + "\n]}\n")


def came(row: Mapping[str, Any]) -> str:
    """Return what came, in words of the table."""
    return "< 1" if row["change"] < LITTLE else "> 2" if row["change"] > MUCH else "1 to 2"


def is_kept(row: Mapping[str, Any]) -> bool:
    """Return whether a word holds that promises something."""
    return bool(row["change"] < LITTLE if row["word"] == "nothing" else row["change"] > MUCH)


def table(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return for each word how many banks gained how much, by kind of bank, as lines of a table."""
    lines = [["said", "came", *KINDS, "all"]]
    for word in WORDS:
        for outcome in OUTCOMES:
            some = [row["bank"] for row in rows if (row["word"], came(row)) == (word, outcome)]
            lines.append([word, outcome, *(f"{some.count(kind)}" for kind in KINDS), f"{len(some)}"])
    return lines


def summary(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return for each word how many banks gained how much, as lines of a table."""
    lines = [["said", "banks", "gained less than 1 point", "1 to 2", "more than 2"]]
    for word in WORDS:
        outcomes = [came(row) for row in rows if row["word"] == word]
        counts = [len(outcomes), *(outcomes.count(each) for each in OUTCOMES)]
        lines.append([word, *map(str, counts)])
    return lines


def kept_words(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return for "nothing" and "much" how often they held, and how often they were said."""
    said = {word: [is_kept(row) for row in rows if row["word"] == word] for word in ("nothing", "much")}
    return {word: (sum(held), len(held)) for word, held in said.items()}


def main() -> None:
    """Measure, or print what is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, default=KEPT)
    given = parser.parse_args()
    if given.folders:
        measure(given.folders, given.output)
    rows = json.loads(given.output.read_text("utf-8"))["banks"]
    print("\n".join(f"| {' | '.join(line)} |" for line in table(rows)))
    print(f"{len({row['set'] for row in rows})} sets; held of said: {kept_words(rows)}")


if __name__ == "__main__":
    main()
