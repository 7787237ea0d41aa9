"""Hubs planted by optimising them, and who finds them: `python -m benchmarks.planted_hubs FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; labels are not used. A third of the queries, at random, is what an attacker
knows, a third is the query bank of a correction, and a third are the live queries that a scan sees. One hub is planted
at a time, at the end of the targets:

- centroid: the mean of the attacker's queries;
- universal: optimised so that as many of the attacker's queries as possible have it among their first ten;
- topic: the same for the queries of one of 12 topics;
- quiet topic: the same, with as few of the other queries as possible, to evade a count over all queries;
- near: universal, but within a distance of a benign target on the unit sphere.

The optimiser is projected gradient ascent on the mean over queries of sigmoid((q·x − r)/τ), where r is the query's
tenth best similarity. "Adversarial Hubness" (arXiv 2412.14113) optimises an image or a sound within a distance of a
benign one. Here the vector itself is optimised, which leaves an attacker more freedom.

Prints Markdown: how many hubs took hold, which is that at least ten times as many live queries as by chance have them
among their first ten. Of these, how many are first in the list of the scan, and within its first 0.4 %; the same for
the robust z-score of HubScan (arXiv 2602.22427): (x − median)/(1.4826·MAD) of the hub rate x = N_20/m, at most 100, and
0 for a MAD of 0; ties at their average place. `N_10` is the share of the live queries that have the hub among their
first ten: raw, and corrected by `auto` and by `sn`, both fitted on the bank with the hub among the targets. `stability`
is the scan's, beside the median of the 20 targets that are found most.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_sets import read_side
from hubless.corrections import correction
from hubless.diagnosing.gallery import open_gallery
from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.comparing import side_of
from hubless.vectors.sources import ArrayVectors
from hubless_lab.scan.scanning import scan

STEPS, RATE = 200, 0.05
DEPTH, HUBSCAN_DEPTH = 10, 20
TOPICS, ROUNDS, FEWEST = 12, 15, 5
NEAR = {"near, .5": 0.5, "near, .3": 0.3}
"""Distance from a benign target: cosines of 0.875 and 0.955."""
KINDS = ("centroid", "universal", "topic", "quiet topic", *NEAR)
CORRECTIONS = ("auto", "sn")
DRAWS = 3
LIVE = 1000
HELD = 10
SHARE = 0.004
LARGEST = 20
MOST_Z = 100.0
RESULTS = Path(__file__).parent / "results" / "planted_hubs.json"


def unit(rows: F32) -> F32:
    """The rows, of length 1."""
    scaled: F32 = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return scaled


def optimised(wanted: F32, targets: F32, start: F32, limit: float | None = None, unwanted: F32 | None = None) -> F32:
    """A unit vector (d,) that as many of the wanted queries as possible have among their first ten.

    Parameters
    ----------
    wanted : (m, d)
    targets : (n, d) that it competes with
    start : (d,) of length 1
    limit : the largest distance from the start; None for none
    unwanted : (u, d) queries that should not find it
    """
    sides = [(1.0, _Reach(wanted, targets))]
    if unwanted is not None and len(unwanted):
        sides.append((-1.0, _Reach(unwanted, targets)))
    x = start.copy()
    for step in range(STEPS):
        gradient = np.sum([sign * reach.gradient(x) for sign, reach in sides], axis=0)
        gradient -= (gradient @ x) * x
        length = float(np.linalg.norm(gradient))
        if length == 0:
            break
        x = unit(x + RATE * (1 - step / STEPS) * gradient / length)
        if limit is not None:
            x = within(x, start, limit)
    return x.astype(np.float32)


class _Reach:
    """The mean over queries of sigmoid((q·x − r)/τ), r the tenth best similarity: about the share that finds x."""

    def __init__(self, queries: F32, targets: F32) -> None:
        similarities = queries @ targets.T
        place = min(DEPTH, len(targets))
        self._queries = queries
        self._tenth = -np.partition(-similarities, place - 1, axis=1)[:, place - 1]
        self._temperature = float(similarities.std())

    def gradient(self, x: F32) -> F32:
        margin = np.clip((self._tenth - self._queries @ x) / self._temperature, -30, 30)
        share = 1 / (1 + np.exp(margin))
        slope: F32 = (share * (1 - share)) @ self._queries / len(self._queries)
        return slope


def within(x: F32, centre: F32, limit: float) -> F32:
    """The unit vector nearest to x at a distance of at most `limit` from the centre, both of length 1."""
    cosine = 1 - limit**2 / 2
    along = float(x @ centre)
    if along >= cosine:
        return x
    away = unit(x - along * centre)
    nearest: F32 = cosine * centre + np.sqrt(1 - cosine**2) * away
    return nearest


def one_topic(queries: F32, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which queries (m,) are of one of 12 topics, by k-means on the sphere; a topic of half the mean size at least."""
    centres = queries[rng.choice(len(queries), TOPICS, replace=False)]
    for _ in range(ROUNDS):
        nearest = (queries @ centres.T).argmax(axis=1)
        for topic in np.unique(nearest):
            centres[topic] = unit(queries[nearest == topic].sum(axis=0))
    sizes = np.bincount(nearest, minlength=TOPICS)
    large = np.flatnonzero(sizes >= max(FEWEST, len(queries) / TOPICS / 2))
    chosen: NDArray[np.bool_] = nearest == rng.choice(large)
    return chosen


def planted(kind: str, queries: F32, targets: F32, rng: np.random.Generator) -> F32:
    """A hub (d,) of a kind, made with what an attacker knows."""
    centroid = unit(queries.mean(axis=0))
    if kind == "centroid":
        return centroid
    if kind == "universal":
        return optimised(queries, targets, centroid)
    if kind in NEAR:
        return optimised(queries, targets, targets[rng.integers(len(targets))], NEAR[kind])
    inside = one_topic(queries, rng)
    start = unit(queries[inside].mean(axis=0))
    return optimised(queries[inside], targets, start, unwanted=queries[~inside] if kind == "quiet topic" else None)


def robust_z(counts: I64) -> F64:
    """HubScan's z-score of each target (n,)."""
    median = np.median(counts)
    deviation = np.median(np.abs(counts - median))
    if deviation == 0:
        return np.zeros(len(counts))
    scores: F64 = np.clip((counts - median) / (1.4826 * deviation), -MOST_Z, MOST_Z)
    return scores


def measure(name: str, queries: F32, targets: F32, kind: str, seed: int) -> dict[str, Any]:
    """Plant one hub and look for it."""
    rng = np.random.default_rng(seed)
    known, bank, live = (queries[part] for part in np.array_split(rng.permutation(len(queries)), 3))
    live = live[:LIVE]
    everything = np.concatenate([targets, planted(kind, known, targets, rng)[np.newaxis]])
    count = len(everything)
    hub = len(targets)
    source = ArrayVectors(everything, "targets")

    def found(k: int, offsets: F32 | None = None) -> I64:
        return np.bincount(top_k(live, source, k, offsets)[1].ravel(), minlength=count)

    rates = {"raw": int(found(DEPTH)[hub])}
    for method in CORRECTIONS:
        rates[method] = int(found(DEPTH, correction(method).fit(bank, source).offsets(source))[hub])
    scores = robust_z(found(HUBSCAN_DEPTH))
    listed = scan(open_gallery(everything), live, budget=count, progress=False).findings
    by_row = {finding.target.row: finding for finding in listed}
    largest = np.argsort(-found(DEPTH)[:hub], kind="stable")[:LARGEST].tolist()
    stable = [value for row in largest if (value := by_row[row].measured.stability) is not None]
    return {
        "set": name,
        "kind": kind,
        "targets": count,
        "live": len(live),
        "place": by_row[hub].place,
        "hubscan_place": float(1 + (scores > scores[hub]).sum() + ((scores == scores[hub]).sum() - 1) / 2),
        "found": rates,
        "stability": by_row[hub].measured.stability,
        "stability_of_largest": float(np.median(stable)),
    }


def markdown(rows: Sequence[Mapping[str, Any]], by: str) -> Iterator[str]:
    """A line for each kind, or each set."""
    budget = f"first {100 * SHARE:g} %"
    lists = f"scan: first | {budget} | z-score: first | {budget}"
    yield f"| {by} | planted | took hold | {lists} | N_10 raw | auto | sn | stability |"
    yield "| --- |" + " ---: |" * 10
    for value in dict.fromkeys(row[by] for row in rows):
        some = [row for row in rows if row[by] == value]
        held = [row for row in some if row["found"]["raw"] >= HELD * DEPTH * row["live"] / row["targets"]]
        cells = [str(len(some)), str(len(held))]
        for place in ("place", "hubscan_place"):
            cells.append(str(sum(row[place] <= 1 for row in held)))
            cells.append(str(sum(row[place] <= max(1, SHARE * row["targets"]) for row in held)))
        for method in ("raw", *CORRECTIONS):
            rates = [row["found"][method] / row["live"] for row in held]
            cells += [f"{100 * np.mean(rates):.1f} %"]
        stability = [np.mean([row[name] for row in held]) for name in ("stability", "stability_of_largest")]
        yield f"| {value} | {' | '.join(cells)} | {stability[0]:.2f} / {stability[1]:.2f} |"


def main() -> None:
    """Plant hubs in all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    for folder in given.folders:
        queries, targets = (read_side(folder / f"{name}.npy", side_of(name)) for name in ("queries", "targets"))
        for kind in KINDS:
            rows += [measure(folder.resolve().name, queries, targets, kind, seed) for seed in range(given.draws)]
    for by in ("kind", "set"):
        print("\n".join(markdown(rows, by)), end="\n\n")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
