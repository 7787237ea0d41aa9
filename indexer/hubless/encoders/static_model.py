"""Static embeddings: the mean of the rows of a text's tokens, as model2vec and sentence-transformers make them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hubless.encoders import folder_model
from hubless.encoders.folder_model import wrong_file
from hubless.errors import one_line
from hubless.vectors.arrays import F32

TABLE_FILE = "model.safetensors"
NESTED = "0_StaticEmbedding"
"""Folder of the table in a model that sentence-transformers saved."""

BATCH = 1024
MOST_TOKENS = 512
"""Tokens of a text that model2vec reads if `config.json` has no `max_length`."""

Array = np.ndarray[Any, Any]


class StaticDescription(folder_model.FolderDescription):
    """The folder of a static model."""

    type: Literal["static"] = "static"


@dataclass(frozen=True, kw_only=True)
class StaticTable:
    """A table with rows (v, d) of tokens, a factor of each, and the row of each where tokens share rows."""

    tokeniser: Any
    rows: Array
    weights: Array | None
    mapping: Array | None
    unknown: int | None
    most_characters: int | None
    normalise: bool
    prompt: str
    batch: int = BATCH

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def vectors(self, texts: Sequence[str]) -> F32:
        """Return (m, d): for each text Σ wₜ·rowₜ / number of tokens t, of length 1 if the model normalises."""
        cut = [text[: self.most_characters] for text in texts]
        means = np.zeros((len(texts), self.dim), np.float32)
        for mean, encoding in zip(means, self.tokeniser.encode_batch_fast(cut, add_special_tokens=False), strict=True):
            tokens = [token for token in encoding.ids if token != self.unknown]
            if tokens:
                mean[:] = self._weighted(tokens).mean(axis=0, dtype=np.float64)
        return folder_model.rows_of_length_one(means) if self.normalise else means

    def _weighted(self, tokens: list[int]) -> F32:
        rows = self.rows[tokens if self.mapping is None else self.mapping[tokens]].astype(np.float32)
        # the mean is over the number of tokens all the same, not over the sum of weights
        return rows if self.weights is None else rows * self.weights[tokens, None].astype(np.float32)


class StaticModel(folder_model.FolderModel):
    """A table of one row per token, in `model.safetensors`, as model2vec and sentence-transformers write it."""

    described = StaticDescription
    packages = ("safetensors", "tokenizers")
    quick_when_loaded = True

    def _read(self) -> StaticTable:
        """Read tokens and table of a folder as sentence-transformers or model2vec write it."""
        folder = Path(self.description.path)
        inner = folder / NESTED if (folder / NESTED).is_dir() else folder
        tokeniser = folder_model.read_tokeniser(inner)
        tensors = _read_tensors(folder_model.existing(inner / TABLE_FILE))
        modules = folder_model.module_names(folder)
        folder_model.check_modules(folder, modules, ("StaticEmbedding", "Normalize"))
        config = folder_model.read_object(folder / "config.json")
        # sentence-transformers counts unknown tokens and reads the whole text, model2vec does neither
        distilled = "embeddings" in tensors
        rows = tensors["embeddings" if distilled else "embedding.weight"]
        _check_sizes(inner, tokeniser.get_vocab_size(), rows, tensors)
        prompt = self.description.prompt
        return StaticTable(
            tokeniser=tokeniser,
            rows=rows,
            weights=tensors.get("weights"),
            mapping=tensors.get("mapping"),
            unknown=_unknown(tokeniser) if distilled else None,
            most_characters=_limit(tokeniser, config.get("max_length", MOST_TOKENS)) if distilled else None,
            normalise=bool(config.get("normalize", "Normalize" in modules)),
            prompt=folder_model.own_prompt(folder) if prompt is None else prompt,
        )


def _read_tensors(file: Path) -> dict[str, Array]:
    from safetensors.numpy import load_file

    try:
        tensors = load_file(file)
    except Exception as error:  # also of types that NumPy lacks
        raise wrong_file("safetensors of types that NumPy has", f"{file}: {one_line(error)}") from error
    if "embeddings" not in tensors and "embedding.weight" not in tensors:
        raise wrong_file("a tensor embeddings or embedding.weight", f"{file} with {', '.join(tensors) or 'nothing'}")
    return tensors


def _check_sizes(folder: Path, tokens: int, rows: Array, tensors: dict[str, Array]) -> None:
    """Refuse files that do not fit each other: texts would get rows of other words, or none."""
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise wrong_file("a matrix of finite numbers, a row per token", f"{folder}: {rows.dtype}, shape {rows.shape}")
    sized: dict[str, int] = {name: len(tensors[name]) for name in ("weights", "mapping") if name in tensors}
    if "mapping" not in sized:
        sized["embeddings"] = len(rows)
    elif tensors["mapping"].min() < 0 or tensors["mapping"].max() >= len(rows):
        raise wrong_file(f"a mapping to rows 0 to {len(rows) - 1}", f"{folder}, whose mapping names others")
    for name, length in sized.items():
        if length < tokens:
            raise wrong_file(f"{name} of each of {tokens} tokens in tokenizer.json", f"{folder} with {length}")


def _unknown(tokeniser: Any) -> int | None:
    if not hasattr(tokeniser.model, "unk_token"):  # Unigram, which shows it only as JSON
        found = json.loads(tokeniser.to_str())["model"].get("unk_id")
        return None if found is None else int(found)
    token = tokeniser.model.unk_token
    return None if token is None else tokeniser.token_to_id(token)


def _limit(tokeniser: Any, most_tokens: int | None) -> int | None:
    if most_tokens is None:
        tokeniser.no_truncation()
        return None
    tokeniser.enable_truncation(most_tokens)
    # model2vec cuts characters first, so that nothing long is cut into tokens
    return most_tokens * int(np.median([len(token) for token in tokeniser.get_vocab()]))
