"""A semantic cache that keeps a budget of false hits: `python -m benchmarks.semantic_cache`.

Questions are docstrings of Python's library; half are in the cache. Live questions are these again, with four of ten
words left out and the others in any order, and as many new ones. Letters and words stand for a model. 1,500 labels are
drawn twenty times; the other live questions are the test. The plain threshold is that at which 1 % of the labelled hits
are false. Everything is kept in `lab/docs/performance/semantic_cache.json`.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import hubless
from benchmarks.report import KEPT as FOLDER
from hubless_demo.pairs import find_pairs, standard_library
from hubless_lab.experiments.quality import cut_for

KEPT = FOLDER / "semantic_cache.json"
ACCURACY, LABELS, DRAWS, WIDTH = 0.99, 1500, 20, 2048


def embed(text: str) -> Any:
    """Return a vector (2048,) of length 1 of words, and of three letters each."""
    vector = np.zeros(WIDTH)
    for word in re.findall(r"\w+", text.lower()):
        for part in [word, *(f"#{word}#"[start : start + 3] for start in range(len(word)))]:
            vector[zlib.crc32(part.encode()) % WIDTH] += 1
    return np.log1p(vector) / max(np.linalg.norm(np.log1p(vector)), 1e-9)


def asked(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the best scores of each live question (m, 11), and whether its first hit is the same question."""
    texts = sorted({pair.doc for pair in find_pairs(standard_library()) if len(pair.doc.split()) > 4})
    rng.shuffle(texts)
    vectors = np.array([embed(text) for text in texts])
    different = np.tril(vectors @ vectors.T, -1).max(axis=1) < 0.7
    texts, vectors = [text for text, one in zip(texts, different, strict=True) if one], vectors[different]
    cached = len(texts) // 2

    def again(text: str, share: float) -> str:
        words = text.split()
        return " ".join(rng.permutation(words)[: max(2, round(share * len(words)))])

    live = [(again(text, 0.6 if row < cached else 0.9), row) for row, text in enumerate(texts)]
    rng.shuffle(live)
    similarities = np.array([embed(text) for text, _ in live]) @ vectors[:cached].T
    return -np.sort(-similarities, axis=1)[:, :11], similarities.argmax(axis=1) == [row for _, row in live]


def measure() -> dict[str, list[float]]:
    """Return by threshold the share of hits, and in how many draws more than 1 % of them were false."""
    lists, right = asked(np.random.default_rng(0))
    cut = hubless.Cut.fit(lists[:1000])
    numbers = {"cut": np.array([cut.confidence(scores) for scores in lists]), "cosine": lists[:, 0]}
    measured = {}
    for name, known in numbers.items():
        for kind in ("guaranteed", "plain"):
            draws = []
            for seed in range(DRAWS):
                labelled, test = np.split(np.random.default_rng(seed).permutation(len(lists)), [LABELS])
                given = known[labelled], right[labelled], ACCURACY
                least = hubless.guaranteed_cut(*given).threshold if kind == "guaranteed" else cut_for(*given).threshold
                hits = known[test] >= (np.inf if least is None else least)
                draws.append((hits.mean(), hits.any() and (~right[test][hits]).mean() > 1 - ACCURACY))
            measured[f"{kind}, by the {name}"] = [float(mean) for mean in np.mean(draws, axis=0)]
    return measured


def table(measured: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| threshold | hits, of 50 % that can be | budget broken |"
    yield "| --- | ---: | ---: |"
    for name, (hits, broken) in measured.items():
        yield f"| {name} | {hits:.0%} | {broken:.0%} of the draws |".replace("%", " %")


def main() -> None:
    """Measure, and keep the figures."""
    KEPT.write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
