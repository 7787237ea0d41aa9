"""Searches of texts, BM25 by bm25s and latent semantic vectors, and pairs of texts that packages ship."""

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np

from hubless_demo.pairs import find_pairs, standard_library

MOST = 4000
"""Pairs of a corpus."""
MANUALS = Path("/usr/share/man/man1")
_WORD = re.compile(r"[A-Za-z]{2,}")
_MACRO = re.compile(r"^\.\S*\s*|\\f[A-Z]|\\&|\\-|\\\(\w\w|\\")
_NAME = re.compile(r'(?ms)^\.SH "?NAME"?\s*\n(.*?)(?=^\.SH)')


def words(text: str) -> list[str]:
    """Return the words of a text in small letters, those of identifiers one by one."""
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).replace("_", " ")
    return [word.lower() for word in _WORD.findall(split)]


class Lexical:
    """BM25 with the defaults of bm25s."""

    def __init__(self, documents: list[str]) -> None:
        import bm25s

        self._index = bm25s.BM25()
        self._known = Counter(word for text in documents for word in set(words(text)))
        self._index.index([words(text) for text in documents], show_progress=False)
        self._count = len(documents)

    def search(self, queries: list[str], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and scores (m, k), best first; a score of 0 has no word of the query."""
        ids = np.zeros((len(queries), count), np.int64)
        scores = np.zeros((len(queries), count))
        for row, text in enumerate(queries):
            known = [word for word in words(text) if word in self._known]
            if known:
                values = np.asarray(self._index.get_scores(known), np.float64)
                best = np.argsort(-values, kind="stable")[:count]
                ids[row, : len(best)], scores[row, : len(best)] = best, values[best]
        return ids, scores


class LatentVectors:
    """Latent semantic vectors: 200 dimensions of tf-idf by singular values, compared by cosine."""

    def __init__(self, documents: list[str], dim: int = 200) -> None:
        from scipy.sparse.linalg import svds

        tokens = [Counter(words(text)) for text in documents]
        often = Counter(word for each in tokens for word in each)
        self._columns = {word: column for column, (word, count) in enumerate(often.items()) if count > 1}
        self._columns = {word: column for column, word in enumerate(self._columns)}
        weights = [np.log((1 + len(documents)) / (1 + often[word])) + 1 for word in self._columns]
        self._idf = np.array(weights)
        matrix = self._matrix(tokens)
        _, _, self._basis = svds(matrix, k=min(dim, min(matrix.shape) - 1), random_state=0)
        self._targets = self._vectors(matrix)

    def _matrix(self, tokens: list[Counter[str]]):
        from scipy.sparse import csr_array

        entries = [
            (row, self._columns[word], 1 + np.log(count))
            for row, each in enumerate(tokens)
            for word, count in each.items()
            if word in self._columns
        ]
        rows, columns, values = map(np.array, zip(*entries, strict=True))
        return csr_array((values * self._idf[columns], (rows, columns)), shape=(len(tokens), len(self._columns)))

    def _vectors(self, matrix) -> np.ndarray:
        vectors = matrix @ self._basis.T
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def search(self, queries: list[str], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and scores (m, k), best first, from 1 to 2 so that all are above 0."""
        similarities = self._vectors(self._matrix([Counter(words(text)) for text in queries])) @ self._targets.T
        ids = np.argsort(-similarities, axis=1, kind="stable")[:, :count]
        return ids, 1 + np.take_along_axis(similarities, ids, axis=1)


def corpora(wordnet: Path | None) -> dict[str, tuple[list[str], list[str]]]:
    """Return queries and documents by corpus."""
    found = {"docstring → function of Python's library": _library(), "summary → manual page": _manuals()}
    return found if wordnet is None else found | {"example → gloss of WordNet": _glosses(wordnet)}


def _some(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    kept = list(dict(pairs).items())
    rows = np.random.default_rng(0).permutation(len(kept))[:MOST]
    return [kept[row][0] for row in rows], [kept[row][1] for row in rows]


def _library() -> tuple[list[str], list[str]]:
    return _some([(pair.doc, pair.code) for pair in find_pairs(standard_library())])


def _manuals() -> tuple[list[str], list[str]]:
    pairs = []
    for path in sorted(MANUALS.glob("*.1*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        name = _NAME.search(text)
        if name is None:
            continue
        said, body = (_MACRO.sub("", each) for each in (name[1].split("-")[-1], text[name.end() :]))
        body = "\n".join(_MACRO.sub("", line) for line in body.splitlines() if not line.startswith('.\\"'))
        if len(words(said)) > 3 and len(words(body)) > 50:
            pairs.append((" ".join(said.split()), body))
    return _some(pairs)


def _glosses(folder: Path) -> tuple[list[str], list[str]]:
    pairs = []
    for kind in ("noun", "verb"):
        for line in (folder / f"data.{kind}").read_text("latin-1").splitlines():
            gloss = line.partition(" | ")[2]
            examples = re.findall(r'"([^"]+)"', gloss)
            if line.startswith("  ") or not examples or len(words(examples[0])) < 4:
                continue
            fields = line.split()
            lemmas = [fields[4 + 2 * each].replace("_", " ") for each in range(int(fields[3], 16))]
            pairs.append((examples[0], f"{' '.join(lemmas)} {gloss.partition(chr(34))[0]}"))
    return _some(pairs)
