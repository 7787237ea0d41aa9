"""Make the word vectors of the demo: `python -m benchmarks.demo_words FOLDER`.

FOLDER has `model.safetensors` and `tokenizer.json` of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0); it checks
their hash. Each word goes through the model alone, as model2vec does. The vectors are centred, cut to their 224 largest
directions, of which the square root of the singular value is taken off, and rounded to 15 values with a scale a word.
Words are those that the standard library of this Python has three times or more, and the first of the model's
vocabulary. It writes `words.npz` and `words.json` into `lab/hubless_demo`.
"""

import argparse
import hashlib
import json
import re
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf
from tokenizers import Tokenizer

from hubless.encoders import tokenise
from hubless_demo.pairs import standard_library
from hubless_demo.word_vectors import TABLE

MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the weights that are published."""
LAYERS, HEADS = 6, 12
DIMENSIONS, LARGEST = 224, 7
"""Whole numbers up to 7 need half the bytes of those up to 127, and rank as well."""
LEAST, LONGEST = 3, 24
"""Times that a word must stand in the library, and its characters."""
FIRST = 12_000
"""Tokens of the vocabulary, which is in the order of how often they are used."""
BATCH = 256


def words_of_library() -> list[str]:
    """Return the words that the sources of the standard library repeat."""
    counts = Counter[str]()
    for file in standard_library().files:
        try:
            with tokenize.open(file) as source:
                counts.update(tokenise(source.read()))
        except (SyntaxError, UnicodeDecodeError):
            continue
    usable = re.compile(rf"(?=[a-z0-9]*[a-z])[a-z0-9]{{1,{LONGEST}}}")
    return [word for word, count in counts.items() if count >= LEAST and usable.fullmatch(word)]


class Model:
    """The sentence encoder, in NumPy."""

    def __init__(self, folder: Path) -> None:
        raw = (folder / "model.safetensors").read_bytes()
        if hashlib.sha256(raw).hexdigest() != MODEL_SHA256:
            raise ValueError("model.safetensors: expected the published weights")
        length = int.from_bytes(raw[:8], "little")
        self.weights: dict[str, Any] = {}
        for name, about in json.loads(raw[8 : 8 + length]).items():
            if about.get("dtype") == "F32":
                begin, end = about["data_offsets"]
                part = np.frombuffer(raw[8 + length + begin : 8 + length + end], np.float32)
                self.weights[name] = part.reshape(about["shape"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def encode(self, words: list[str]) -> Any:
        """Return a vector of each word, (n, 384), of length 1: the mean over its tokens."""
        ids = [self.tokenizer.encode(word).ids for word in words]
        vectors = np.empty((len(words), 384), np.float32)
        for length in sorted(set(map(len, ids))):
            rows = np.array([row for row, each in enumerate(ids) if len(each) == length])
            for some in np.array_split(rows, -(-len(rows) // BATCH)):
                vectors[some] = self._states(np.array([ids[row] for row in some])).mean(axis=1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _states(self, ids: Any) -> Any:
        tables = [self.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")]
        x = self._normed(tables[0][ids] + tables[1][: ids.shape[1]] + tables[2][0], "embeddings.LayerNorm")
        count, length, width = x.shape
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            q, k, v = (
                self._linear(x, f"{layer}.attention.self.{part}").reshape(count, length, HEADS, -1).swapaxes(1, 2)
                for part in ("query", "key", "value")
            )
            found = np.exp(q @ k.swapaxes(2, 3) / float(width // HEADS) ** 0.5)
            seen = (found / found.sum(axis=-1, keepdims=True)) @ v
            seen = self._linear(seen.swapaxes(1, 2).reshape(x.shape), f"{layer}.attention.output.dense")
            x = self._normed(x + seen, f"{layer}.attention.output.LayerNorm")
            inner = self._linear(x, f"{layer}.intermediate.dense")
            inner *= (1 + erf(inner * float(0.5**0.5))) / 2
            x = self._normed(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normed(self, x: Any, name: str) -> Any:
        apart = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.mean(apart**2, axis=-1, keepdims=True) + 1e-12)
        return apart / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def main() -> None:
    """Write the table, and what it was made from."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    model = Model(parser.parse_args().folder)
    known = model.tokenizer.get_vocab()
    common = [word for word, place in known.items() if place < FIRST and re.fullmatch(r"[a-z]+", word)]
    words = sorted({*words_of_library(), *common})
    vectors = model.encode(words)
    vectors -= vectors.mean(axis=0)
    values, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    kept = directions[:, ::-1][:, :DIMENSIONS] / values[::-1][:DIMENSIONS] ** 0.25
    cut = vectors @ kept
    scales = (np.abs(cut).max(axis=1) / LARGEST).astype(np.float32)
    rows = np.round(cut / scales[:, np.newaxis]).astype(np.int8)
    np.savez_compressed(TABLE, words=np.frombuffer(" ".join(words).encode(), np.uint8), rows=rows, scales=scales)
    about = {
        "words": len(words),
        "dimensions": DIMENSIONS,
        "source": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "model_sha256": MODEL_SHA256,
        "made_by": "benchmarks/demo_words.py",
        "sha256": hashlib.sha256(TABLE.read_bytes()).hexdigest(),
    }
    TABLE.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    print(json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
