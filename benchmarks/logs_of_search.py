"""Changes of R@1 by the log of a search alone: `python -m benchmarks.logs_of_search --data FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; strict protocol. The log has the first K hits of each bank query in the
gallery, with their scores; live lists of 50 are corrected by `hubless.ScoreCorrection`. Beside it: `auto` with all
vectors and the target bank, and without the latter, as a log has none; and log(1 + how often an item is found), which
people propose. AUROC is that of the top raw score, and of `confidence`.

With `--texts` it measures BM25 of the package bm25s, latent semantic vectors, and their min-max sum, raw and corrected:
on functions of Python's standard library, on manual pages, and with `--wordnet FOLDER` on glosses of WordNet.

Prints Markdown; keeps all numbers in `docs/images/logs_of_search.json`.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hubless
from benchmarks.gains import IMAGES, NAMES, signed
from benchmarks.real_sets import Set, hits, open_set
from hubless.errors import InputError
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.quality import auroc
from hubless_lab.experiments.trials import strict_trial

KEPT = IMAGES / "logs_of_search.json"
LIVE, DEPTHS, SIZES = 50, (50, 20, 10), (100, 10)
SEEDS = 10
Lists = tuple[np.ndarray, np.ndarray]


def first_hits(scores: np.ndarray, count: int) -> Lists:
    """Return ids and scores (m, k) of the best items of each query."""
    count = min(count, scores.shape[1])
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return ids, np.take_along_axis(scores, ids, axis=1)


def pairs_of(lists: Lists) -> list[tuple[Any, Any]]:
    """Return lists as `ScoreCorrection.fit` takes them, without places that found nothing."""
    return [(ids[values > 0], values[values > 0]) for ids, values in zip(*lists, strict=True)]


def first_ids(lists: Lists, correction: hubless.ScoreCorrection | None) -> np.ndarray:
    """Return the first item of each list, corrected."""
    ids, scores = lists
    if correction is None:
        return ids[:, 0]
    return np.array([correction.rerank(some, values, 1).ids[0] for some, values in zip(ids, scores, strict=True)])


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return means over the seeds, in points of R@1."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        trial = strict_trial(data.pairs, seed)
        relevant = [set(rows.tolist()) for rows in trial.relevant]

        def share(first: np.ndarray, relevant: list[set[int]] = relevant) -> np.ndarray:
            return np.array([row in right for row, right in zip(first.tolist(), relevant, strict=True)])

        live = first_hits(trial.queries @ trial.targets.T, LIVE)
        bank_ids, bank_scores = first_hits(trial.query_bank @ trial.targets.T, LIVE)
        raw = share(live[0][:, 0])
        figures = {"raw": 100 * raw.mean()}
        for name, given in (("auto", trial), ("auto, no target bank", _without_target_bank(trial))):
            each = hits(given, [Method("none"), Method("auto")])
            figures[name] = 100 * (each["auto"].mean() - each["none"].mean())
        rng = np.random.default_rng(1000 + seed)
        logs = {f"{depth} hits": (bank_ids[:, :depth], bank_scores[:, :depth]) for depth in DEPTHS}
        for size in SIZES:
            rows = rng.permutation(len(bank_ids))[:size]
            logs[f"{size} queries"] = bank_ids[rows], bank_scores[rows]
        for name, log in logs.items():
            correction = hubless.ScoreCorrection.fit(list(zip(*log, strict=True)))
            right = share(first_ids(live, correction))
            figures[name] = 100 * (right.mean() - raw.mean())
            if name == f"{LIVE} hits" and 0 < right.mean() < 1:
                sure = np.array([correction.confidence(*each) for each in zip(*live, strict=True)])
                figures["AUROC of the top score"] = auroc(live[1][:, 0], raw)
                figures["AUROC of confidence"] = auroc(sure, right)
        counts = np.bincount(bank_ids.ravel(), minlength=len(trial.targets))
        damped = live[1] / (1 + np.log1p(counts[live[0]]))
        best = live[0][np.arange(len(live[0])), damped.argmax(axis=1)]
        figures["log(1 + N)"] = 100 * (share(best).mean() - raw.mean())
        for name, value in figures.items():
            found.setdefault(name, []).append(float(value))
    return {"set": data.name, "figures": {name: round(float(np.mean(each)), 3) for name, each in found.items()}}


def _without_target_bank(trial: Any) -> Any:
    from dataclasses import replace

    return replace(trial, target_bank=None)


def markdown(sets: list[Mapping[str, Any]]) -> str:
    """Return the table, a line a set, the mean and the worst last."""
    names = list(sets[0]["figures"])
    lines = [f"| set | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    plain = {"raw", "AUROC of the top score", "AUROC of confidence"}

    def cells(values: Mapping[str, float]) -> str:
        shown = (
            (f"{value:.3f}" if "AUROC" in name else f"{value:.1f}" if name in plain else signed(value))
            for name, value in values.items()
        )
        return " | ".join(shown)

    for each in sets:
        name = NAMES.get(each["set"], each["set"]).replace("\n", " ")
        lines.append(f"| {name} | {cells(each['figures'])} |")
    of = {name: [each["figures"][name] for each in sets if name in each["figures"]] for name in names}
    lines.append(f"| mean | {cells({name: float(np.mean(values)) for name, values in of.items()})} |")
    lines.append(f"| worst | {cells({name: min(values) for name, values in of.items()})} |")
    return "\n".join(lines)


LOGS = {
    "50 hits": "50 hits of all queries",
    "10 hits": "10 hits",
    "100 queries": "50 hits of 100 queries",
    "auto": "all vectors, `auto`",
    "auto, no target bank": "all vectors, `auto` without a target bank",
    "log(1 + N)": "dividing by 1 + log(1 + how often an item is found)",
}
"""What the page says of each log."""


def means(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of docs/query-log.md: mean and worst of the sets."""
    yield "| log | mean | worst set |"
    yield "| --- | ---: | ---: |"
    for name, words in LOGS.items():
        values = [each["figures"][name] for each in sets]
        yield f"| {words} | {signed(float(np.mean(values)))} | {signed(min(values))} |"


def of_texts(texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of docs/query-log.md on texts."""
    yield "| texts | BM25, R@1 raw → corrected | min-max sum with latent vectors |"
    yield "| --- | ---: | ---: |"
    for each in texts:
        cells = [" → ".join(f"{value:.1f}" for value in each["figures"][name]) for name in ("BM25", "min-max sum")]
        yield f"| {each['corpus']} | {' | '.join(cells)} |"


def measure_texts(name: str, queries: list[str], documents: list[str], seeds: int) -> dict[str, Any]:
    """Return R@1 raw and corrected of BM25, of vectors, and of both, with the strict split of pairs of texts."""
    from benchmarks.lexical import LatentVectors, Lexical

    searches: dict[str, Callable[[list[str]], Any]] = {"BM25": Lexical, "latent vectors": LatentVectors}
    found: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(documents))
        gallery = np.sort(order[: len(order) // 2])
        other = np.sort(order[len(order) // 2 :])
        lists = {}
        for search, made in searches.items():
            index = made([documents[row] for row in gallery])
            lists[search] = [index.search([queries[row] for row in rows], LIVE) for rows in (other, gallery)]
        answer = np.arange(len(gallery))
        corrections = {}
        for search, (log, live) in lists.items():
            try:
                corrections[search] = hubless.ScoreCorrection.fit(pairs_of(log))
            except InputError as error:
                raise SystemExit(f"{name}, {search}: {error}") from error
            both = [first_ids(live, each) == answer for each in (None, corrections[search])]
            found.setdefault(search, []).append([100 * float(each.mean()) for each in both])
        both = [[fused(lists, corrected, rows) for corrected in (None, corrections)] for rows in range(len(gallery))]
        right = [[first == row for first in each] for row, each in enumerate(both)]
        found.setdefault("min-max sum", []).append((100 * np.mean(right, axis=0)).tolist())
    figures = {search: np.mean(values, axis=0).round(2).tolist() for search, values in found.items()}
    return {"corpus": name, "pairs": len(documents), "figures": figures}


def fused(lists: Mapping[str, Any], corrections: Mapping[str, hubless.ScoreCorrection] | None, row: int) -> int:
    """Return the first item by the sum of scores of both searches, each scaled to 0 to 1 in its list."""
    total: dict[int, float] = {}
    for search, (_, live) in lists.items():
        ids = live[0][row]
        scores = live[1][row]
        ids, scores = ids[scores > 0], scores[scores > 0]
        if corrections is not None:
            ids, scores, _ = corrections[search].rerank(ids, scores)
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        for each, score in zip(ids, scores, strict=True):
            total[int(each)] = total.get(int(each), 0.0) + (score - low) / (high - low or 1)
    return max(total, key=lambda each: total[each], default=-1)


def main() -> None:
    """Measure what the command line names, and print what is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", type=Path, default=[])
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=KEPT)
    given = parser.parse_args()
    kept = json.loads(given.output.read_text()) if given.output.exists() else {}
    if given.data:
        kept["sets"] = [measure(open_set(folder), given.seeds) for folder in given.data]
    if given.texts:
        from benchmarks.lexical import corpora

        kept["texts"] = [measure_texts(name, *texts, given.seeds) for name, texts in corpora(given.wordnet).items()]
    parts = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in kept.items()]
    given.output.write_text("{" + ",\n".join(parts) + "}\n")
    print(markdown(kept["sets"]) if "sets" in kept else "")
    print("\n| corpus | pairs | search | raw R@1 | corrected |\n| --- | ---: | --- | ---: | ---: |")
    for each in kept.get("texts", ()):
        for search, (raw, corrected) in each["figures"].items():
            change = signed(corrected - raw)
            print(f"| {each['corpus']} | {each['pairs']:,} | {search} | {raw:.1f} | {corrected:.1f} ({change}) |")


if __name__ == "__main__":
    main()
