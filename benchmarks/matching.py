"""Two piles matched, and duplicates in one: `python -m benchmarks.matching FOLDER [FOLDER ...]`.

A folder holds `queries.npy`, `targets.npy` and `gt.npy`, the row of each query's right target, or `rel_q.npy` and
`rel_t.npy`, all right pairs. Queries and targets are the piles, as they are, and with partners for a third of them.
Where both sides are of one kind, they are one pile, too; and so are the targets, with copies of a fifth that have noise
of 5 to 50 % of their length. All orders have the pairs of items that find each other
first by the same number: the cosine; LASER's ratio, over the mean of the 4 nearest of both; CSLS; `hubless.match`. Of
each it measures the recall at a precision of 95 %: the most right pairs among the first, of all that can be. A promise
is made by 200 labelled pairs, drawn 200 times, and judged on the others. Everything is kept in
`lab/docs/performance/matching.json`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

import hubless
from benchmarks.real_sets import read_side
from benchmarks.report import KEPT as FOLDER
from hubless.vectors.comparing import OF_QUERIES, OF_TARGETS

KEPT = FOLDER / "matching.json"
PRECISION, SURE, LABELS, DRAWS, NEAREST = 0.95, 0.9, 200, 200, 4
CHOSEN_BY = ("flickr30k", "pystdlib", "bli", "digits", "flickr8k_caption", "emoji", "movielens")
"""The form of the lead was chosen on sets whose names begin so; the others judge it."""
ONE_KIND = ("flickr8k_caption", "digits", "quran", "bli")
"""Both sides of these sets are of one kind, so they are one pile, too."""
Found = tuple[Any, Any, Any]
"""Rows of one side (p,), of the other, and a number that orders the pairs, higher is surer."""


def right_pairs(folder: Path, sides: Sequence[Any]) -> NDArray[np.bool_]:
    """Return which pairs are right, (m, n). What is right for an item is right for its copies."""
    first, second = (np.unique(side.round(4), axis=0, return_inverse=True)[1].ravel() for side in sides)
    if (folder / "rel_q.npy").is_file():
        rows, columns = (np.load(folder / f"rel_{side}.npy") for side in "qt")
    else:
        columns = np.load(folder / "gt.npy")
        rows = np.arange(len(columns))
    known = np.zeros((first.max() + 1, second.max() + 1), np.bool_)
    known[first[rows], second[columns]] = True
    return known[np.ix_(first, second)]


def piles(folder: Path) -> Iterator[tuple[str, Any, Any, NDArray[np.bool_]]]:
    """Yield the two sides and which pairs are right: of all, and with a third of the targets on both sides."""
    a, b = read_side(folder / "queries.npy", OF_QUERIES), read_side(folder / "targets.npy", OF_TARGETS)
    right = right_pairs(folder, (a, b))
    yield "all", a, b, right
    part = np.empty(len(b), np.int64)
    part[np.random.default_rng(0).permutation(len(b))] = np.arange(len(b)) % 3
    asked = ~right.any(axis=1) | (part[right.argmax(axis=1)] != 1)
    yield "a third", a[asked], b[part != 0], right[np.ix_(asked, part != 0)]


def nearest_mean(scores: Any, k: int) -> Any:
    return np.partition(scores, -k, axis=1)[:, -k:].mean(axis=1)


def mutual(scores: Any) -> Found:
    """Return pairs that are best in their row and in their column, with their score."""
    best, back = scores.argmax(axis=1), scores.argmax(axis=0)
    rows = np.flatnonzero(back[best] == np.arange(len(best)))
    return rows, best[rows], scores[rows, best[rows]]


def ours(*sides: Any) -> Found:
    pairs = hubless.match(*sides, metric="cosine").pairs
    first, second, leads = zip(*((pair.a, pair.b, pair.lead) for pair in pairs), strict=True)
    return np.array(first), np.array(second), np.array(leads)


def recall(found: Found, right: NDArray[np.bool_], possible: int) -> float:
    """Return the share of the possible right pairs above the lowest cut at which 95 % are right."""
    first, second, numbers = found
    hits = np.cumsum(right[first, second][np.argsort(-numbers, kind="stable")])
    enough = np.flatnonzero(hits >= PRECISION * np.arange(1, len(hits) + 1))
    return float(hits[enough[-1]] / possible) if len(enough) else 0.0


def promise(found: Found, right: NDArray[np.bool_], possible: int, share: float) -> dict[str, float]:
    """Return in how many draws of labels the promise was broken, and the share of the right pairs that is kept.

    Labels are drawn from this share of the pairs, the surest, and promise nothing of the others.
    """
    first, second, numbers = found
    surest = np.argsort(-numbers, kind="stable")[: round(share * len(numbers))]
    hits, numbers = right[first, second][surest], numbers[surest]
    broken, kept = [], []
    for seed in range(DRAWS):
        labelled, others = np.split(np.random.default_rng(seed).permutation(len(hits)), [min(LABELS, len(hits) // 2)])
        least = hubless.guaranteed_cut(numbers[labelled], hits[labelled], PRECISION, SURE).threshold
        above = hits[others][numbers[others] >= (np.inf if least is None else least)]
        broken.append(bool(len(above)) and above.mean() < PRECISION)
        kept.append(above.sum() / len(others) * len(hits) / possible)
    return {"broken": float(np.mean(broken)), "kept": float(np.mean(kept))}


def promises(found: Found, right: NDArray[np.bool_], possible: int) -> dict[str, Any]:
    """Return what labels from all pairs promise, and from the surest third."""
    return {name: promise(found, right, possible, share) for name, share in {"all": 1.0, "a third": 1 / 3}.items()}


def of_two(a: Any, b: Any, right: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what all orders find in two piles."""
    possible = int((maximum_bipartite_matching(csr_matrix(right)) >= 0).sum())
    cosine = a @ b.T
    means = nearest_mean(cosine, NEAREST)[:, np.newaxis] + nearest_mean(cosine.T, NEAREST)
    made = {"cosine": mutual(cosine), "ratio": mutual(cosine / means), "csls": mutual(2 * cosine - means)}
    made["match"] = ours(a, b)
    found = {name: recall(pairs, right, possible) for name, pairs in made.items()}
    return {"right pairs": possible, "recall": found, "promise": promises(made["match"], right, possible)}


def of_one(pile: Any, group: Any) -> dict[str, Any]:
    """Return what is found in one pile, whose items (n,) of one group are duplicates."""
    right = group[:, np.newaxis] == group
    cosine = pile @ pile.T
    np.fill_diagonal(cosine, -1)
    nearest = cosine.argmax(axis=1)
    rows, others = np.unique(np.sort(np.stack([np.arange(len(pile)), nearest], axis=1), axis=1), axis=0).T
    plain = rows, others, cosine[rows, others]
    possible = len(group) - len(np.unique(group))
    fixed = right[rows, others][plain[2] >= 0.98]
    found = {"cosine": recall(plain, right, possible), "match": recall(made := ours(pile), right, possible)}
    above = {"precision": float(fixed.mean()) if len(fixed) else None, "recall": float(fixed.sum() / possible)}
    return {"merges": possible, "recall": found, "0.98": above, "promise": promises(made, right, possible)}


def one_pile(name: str, a: Any, b: Any, right: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Return what is found where queries with one right target are duplicates, and these where they are alike."""
    first = right.argmax(axis=1)
    if name.startswith(ONE_KIND):
        alone = -1 - np.arange(len(a))
        group = np.concatenate([np.where(right.any(axis=1), first, alone), np.arange(len(b))])
        return of_one(np.concatenate([a, b]), group)
    several = np.bincount(first).max() > 1 and (right.sum(axis=1) == 1).all()
    return of_one(a, first) if several else None


def with_copies(pile: Any) -> tuple[Any, Any]:
    """Return different items of a pile with noisy copies of a fifth, and their groups."""
    rng, once = np.random.default_rng(1), np.unique(pile, axis=0)
    some = once[: len(once) // 5]
    noise = rng.standard_normal(some.shape, np.float32)
    noise *= rng.uniform(0.05, 0.5, (len(some), 1)).astype(np.float32) / np.linalg.norm(noise, axis=1, keepdims=True)
    copies = (some + noise) / np.linalg.norm(some + noise, axis=1, keepdims=True)
    return np.concatenate([once, copies]), np.concatenate([np.arange(len(once)), np.arange(len(some))])


def measure(folders: Sequence[Path]) -> list[dict[str, Any]]:
    measured = []
    for folder in folders:
        for shared, a, b, right in piles(folder):
            found = {"set": folder.resolve().name, "partners": shared, "two": of_two(a, b, right)}
            found["one"] = one_pile(folder.resolve().name, a, b, right)
            if shared == "all":
                found["copies"] = of_one(*with_copies(b))
            measured.append(found)
            print(json.dumps(found), flush=True)
    return measured


def table(measured: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table of two piles, means over the sets that did not choose the form of the lead."""
    yield "| partners, in % | cosine | ratio | CSLS | `match` | promised | of a third |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for shared in ("all", "a third"):
        some = [each for each in measured if each["partners"] == shared and not each["set"].startswith(CHOSEN_BY)]
        yield f"| {shared} | {_cells([each['two'] for each in some])} |"


def broken(measured: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the share of the draws of each set that broke a promise, where a right pair was promised at all."""
    found = [each[kind] for each in measured for kind in ("two", "one", "copies") if each.get(kind)]
    made = [promised for each in found for promised in each["promise"].values()]
    return [each["broken"] for each in made if each["kept"] or each["broken"]]


def table_of_one(measured: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table of duplicates in one pile: of noisy copies, and of labels where any are found."""
    yield "| duplicates, in % | cosine | `match` | promised | of a third | above 0.98 |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    labelled = [each["one"] for each in measured if each["one"] and any(each["one"]["recall"].values())]
    for name, some in {
        "noisy copies": [each["copies"] for each in measured if "copies" in each],
        "labelled": labelled,
    }.items():
        above = np.mean([one["0.98"]["recall"] for one in some])
        yield f"| {name}, {len(some)} piles | {_cells(some)} | {100 * above:.0f} |"


def _cells(some: Sequence[Mapping[str, Any]]) -> str:
    """Return the means of what piles say, in per cent: what each order finds, and what labels promise."""
    kept = [(*each["recall"].values(), *(made["kept"] for made in each["promise"].values())) for each in some]
    return " | ".join(f"{100 * cell:.0f}" for cell in np.mean(kept, axis=0))


def main() -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    KEPT.write_text(json.dumps(measure(parser.parse_args().folders), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
