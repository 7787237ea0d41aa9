"""Findings of others about retrievers, before and after the correction: `python -m benchmarks.others_found FOLDER …`.

- **Findability** (Valentini et al., arXiv 2606.02814): what a retriever prefers whoever asks. Of each target the raw
  k-occurrence among the bank queries is taken, k = 10, and the searched targets are parted in thirds by it. The figure
  is the share of right targets that stand before every wrong one, in the lowest and in the highest third.
- **Learned prior** (the same): where targets are known that nobody asked for, a linear classifier on the vectors of the
  targets is to tell them from the others; cross-fitted over the targets, so each is scored by one that never saw it.
- **Popularity as a direction** (Liu et al., arXiv 2512.10688): `popularity.npy` and `length_t.npy` of a recommender.
  The direction leads from the mean of the less popular half of the items to that of the more popular one, cross-fitted.
- **Brevity** (Fayyaz et al., ACL 2025; Goyal et al., arXiv 2604.06097): functions of Python's standard library, half of
  them, drawn by lot, cut to their first two lines. Queries are their docstrings; half of them are the bank, and the
  functions of the others are searched. The encoder is the demo's, and with `--model FOLDER` a model of
  sentence-transformers, too, on 2,000 of them.

Folders and splits are those of `benchmarks.confidence`. Writes `lab/docs/performance/others_found.json`; without
folders it prints what is there.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

import hubless
from benchmarks.confidence import splits, with_all_pairs
from benchmarks.real_sets import open_set
from benchmarks.report import KEPT as FOLDER
from hubless.measures import k_occurrence, skewness
from hubless.vectors.arrays import F32, F64, I64
from hubless_demo.pairs import Pair, find_pairs, standard_library
from hubless_demo.word_vectors import learn
from hubless_lab.experiments.quality import auroc
from hubless_lab.experiments.trials import Trial

KEPT = FOLDER / "others_found.json"
K, SEEDS, FOLDS, LEAST_UNASKED = 10, 3, 5, 50
MOST = 2000
WAYS = ("raw", "auto")
Found = Mapping[str, Any]


def occurrence(scores: F32) -> I64:
    """Return how often each target stands among the first ten, by scores (m, n)."""
    best = np.argpartition(-scores, K, axis=1)[:, :K]
    return k_occurrence(best, scores.shape[1])


def offsets(targets: F32, bank: F32, prior: F64 | None = None) -> F32:
    """Return the offsets of `auto` (n,)."""
    return hubless.offsets(targets, bank, metric="cosine", target_prior=prior)


def first_of_right(scores: F32, relevant: Sequence[I64]) -> tuple[I64, F64]:
    """Return the right target of each pair of a query and a right target, and whether it is before every wrong one."""
    found: list[float] = []
    for row, right in zip(scores, relevant, strict=True):
        wrong = np.delete(row, right)
        found += (row[right] > wrong.max()).tolist()
    return np.concatenate([*relevant]), np.array(found, np.float64)


def findability(trial: Trial) -> dict[str, list[float]]:
    """Return of each way R@1 of right targets of the lowest and of the highest third by the retriever's own prior."""
    prior = occurrence(trial.query_bank @ trial.targets.T)
    third = np.ceil(3 * rankdata(prior, "ordinal") / len(prior)).astype(int) - 1
    h = offsets(trial.targets, trial.query_bank)
    scores = trial.queries @ trial.targets.T
    kept = {}
    for way, given in zip(WAYS, (scores, scores - h), strict=True):
        target, first = first_of_right(given, trial.relevant)
        kept[way] = [100 * float(first[third[target] == part].mean()) for part in (0, 2)]
    return kept


def linear(vectors: F32, labels: F64, seed: int) -> F64:
    """Return scores (n,) of a ridge regression on vectors, each by a fit that has not seen its target."""
    folds = np.random.default_rng(seed).integers(FOLDS, size=len(vectors))
    rows = vectors.astype(np.float64)
    scores = np.empty(len(rows))
    for fold in range(FOLDS):
        seen = folds != fold
        centre, mean = rows[seen].mean(axis=0), labels[seen].mean()
        x = rows[seen] - centre
        weights = np.linalg.solve(x.T @ x + 0.1 * np.eye(x.shape[1]), x.T @ (labels[seen] - mean))
        scores[~seen] = (rows[~seen] - centre) @ weights
    return scores


def along(vectors: F32, popularity: F64, seed: int) -> F64:
    """Return how far each item lies along the popularity direction, which was learned of other items."""
    folds = np.random.default_rng(seed).integers(2, size=len(vectors))
    found = np.empty(len(vectors))
    for fold in range(2):
        seen, others = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        more = popularity[seen] > np.median(popularity[seen])
        direction = vectors[seen][more].mean(axis=0) - vectors[seen][~more].mean(axis=0)
        found[others] = vectors[others] @ direction
    return found


def rho(one: Any, other: Any) -> float:
    """Return Spearman's correlation."""
    return float(spearmanr(one, other).statistic)


def popular(folder: Path, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return correlations with popularity, and R@1: raw, by `auto`, and with the demand of the users of the bank."""
    popularity, length = np.load(folder / "popularity.npy").astype(float), np.load(folder / "length_t.npy")
    vectors = trials[0].targets
    kept: dict[str, Any] = {
        "with_length": rho(popularity, length),
        "along_direction": rho(popularity, along(vectors, popularity, 0)),
    }
    for trial in trials:
        demand = np.bincount(
            np.concatenate([trial.pairs.relevant[row] for row in bank_rows(trial)]), minlength=len(vectors)
        )
        scores = trial.queries @ vectors.T
        prior = (demand + 1.0) / (demand + 1.0).sum()
        ways = {
            "raw": 0,
            "auto": offsets(vectors, trial.query_bank),
            "prior": offsets(vectors, trial.query_bank, prior),
        }
        for way, h in ways.items():
            right = [bool(np.isin(row.argmax(), rows)) for row, rows in zip(scores - h, trial.relevant, strict=True)]
            found = [
                rho(popularity, occurrence(scores - h)),
                skewness(occurrence(scores - h)),
                100 * float(np.mean(right)),
            ]
            kept.setdefault(way, []).append(found)
    return {
        name: np.mean(each, axis=0).round(3).tolist() if isinstance(each, list) else round(each, 3)
        for name, each in kept.items()
    }


def bank_rows(trial: Trial) -> I64:
    """Return the rows of the queries that are not asked."""
    return np.setdiff1d(trial.pairs.answerable, trial.rows)


def measure(folder: Path) -> dict[str, Any]:
    """Return the figures of a set: means over the splits."""
    pairs = with_all_pairs(open_set(folder), folder).pairs
    trials = list(splits(pairs, folder, SEEDS))
    each = [findability(trial) for trial in trials]
    kept: dict[str, Any] = {way: np.mean([one[way] for one in each], axis=0).round(2).tolist() for way in WAYS}
    asked = np.bincount(np.concatenate(pairs.relevant), minlength=len(pairs.targets)) > 0
    if (~asked).sum() >= LEAST_UNASKED:
        told = [auroc(linear(pairs.targets, asked.astype(float), seed), asked) for seed in range(SEEDS)]
        kept["learned_prior"] = round(float(np.mean(told)), 3)
    if (folder / "popularity.npy").is_file():
        kept["popularity"] = popular(folder, trials)
    return kept


def brevity(model: Path | None) -> dict[str, list[float]]:
    """Return of each way the share of first hits that are short, R@1 of short and of long right ones, and skewness."""
    functions = find_pairs(standard_library())
    if model is not None:
        functions = [functions[row] for row in np.random.default_rng(0).choice(len(functions), MOST, replace=False)]
    cut = [replace(each, code="\n".join(each.code.splitlines()[:2])) for each in functions]
    queries, long, short = encoded(functions, cut, model)
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        is_short, asked = (rng.random(len(functions)) < 0.5 for _ in range(2))
        targets = np.where(is_short[:, np.newaxis], short, long)[asked]
        scores = queries[asked] @ targets.T
        h = offsets(targets, queries[~asked])
        kept = []
        for given in (scores, scores - h):
            best = given.argmax(axis=1)
            right = best == np.arange(len(best))
            parts = is_short[asked][best], right[is_short[asked]], right[~is_short[asked]]
            kept.append([*(100 * float(np.mean(one)) for one in parts), skewness(occurrence(given))])
        found.append(kept)
    return dict(zip(WAYS, np.mean(found, axis=0).round(2).tolist(), strict=True))


def encoded(functions: Sequence[Pair], cut: Sequence[Pair], model: Path | None) -> Sequence[F32]:
    """Return vectors of the docstrings, of the functions, and of these when cut; each of length 1."""
    docs = [each.doc for each in functions]
    if model is None:
        words = learn(functions)
        return words.text.encode(docs), words.code.encode(functions), words.code.encode(cut)
    sentences = import_module("sentence_transformers").SentenceTransformer(str(model))
    texts = docs, [each.code for each in functions], [each.code for each in cut]
    return [sentences.encode(some, normalize_embeddings=True) for some in texts]


def of_prior(sets: Mapping[str, Found]) -> str:
    """Return from where to where the AUROC of the learned prior goes."""
    found = [each["learned_prior"] for each in sets.values() if "learned_prior" in each]
    return f"{min(found):.2f} to {max(found):.2f}"


def findability_table(sets: Mapping[str, Found]) -> Iterator[str]:
    """Yield a table: the mean of the sets, and those whose lowest third gains and whose highest third loses most."""
    rows = {name: np.array([each[way] for way in WAYS]) for name, each in sets.items()}
    change = {name: each[1] - each[0] for name, each in rows.items()}
    gained, lost = max(change, key=lambda name: change[name][0]), min(change, key=lambda name: change[name][1])
    yield "| | lowest third: raw | `auto` | highest third: raw | `auto` |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    shown = {"mean": np.mean([*rows.values()], axis=0), gained: rows[gained], lost: rows[lost]}
    for name, each in shown.items():
        yield f"| {name} | {' | '.join(f'{value:.1f}' for value in each.T.ravel())} |"


def popularity_table(sets: Mapping[str, Found]) -> Iterator[str]:
    """Yield a table of the recommender."""
    (found,) = [each["popularity"] for each in sets.values() if "popularity" in each]
    yield "| | correlation | skewness | R@1 |"
    yield "| --- | ---: | ---: | ---: |"
    for way, name in (("raw", "raw"), ("auto", "`auto`"), ("prior", "… with a prior")):
        correlation, skew, right = found[way]
        yield f"| {name} | {correlation:.2f} | {skew:.2f} | {right:.1f} |"


def brevity_table(texts: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[str]:
    """Yield a table of each encoder."""
    yield "| | short first hits, % | R@1, short | R@1, long | skewness |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for encoder, name in (("demo", "demo"), ("model", "MiniLM")):
        for way in WAYS:
            *shares, skew = texts[encoder][way]
            yield f"| {name}, {way} | {' | '.join(f'{each:.1f}' for each in shares)} | {skew:.2f} |"


def main() -> None:
    """Measure, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    if given.folders:
        sets = {folder.resolve().name: measure(folder) for folder in given.folders}
        texts = {"demo": brevity(None)} | ({} if given.model is None else {"model": brevity(given.model)})
        KEPT.write_text(json.dumps({"sets": sets, "brevity": texts}, indent=1) + "\n", "utf-8")
    kept = json.loads(KEPT.read_text("utf-8"))
    for table in (findability_table(kept["sets"]), popularity_table(kept["sets"]), brevity_table(kept["brevity"])):
        print(*table, "", sep="\n")


if __name__ == "__main__":
    main()
