"""Texts as arrays of tokens, as the graph of a model takes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hubless.encoders.folder_model import TOKENISER_FILE, read_object, read_tokeniser
from hubless.vectors.arrays import I64

_FILLED = ("siglip", "siglip2")
"""Kinds of models that were trained on texts of one length, filled up with padding that counts."""


class TextTokens:
    """Turns texts into arrays (m, t). Here t is one for all texts, or the number of tokens of the longest."""

    def __init__(self, folder: Path, graph: Path) -> None:
        self._folder = folder
        self._beside = graph.parent if (graph.parent / TOKENISER_FILE).is_file() else folder
        self._bert = read_object(folder / "sentence_bert_config.json")
        self._lower = bool(self._bert.get("do_lower_case"))
        self._tokeniser = read_tokeniser(self._beside)
        self._padding = _padding(self._beside, self._tokeniser)
        self._width: int | None = None

    def cut(self, most: int | None, width: int | None, *, is_half: bool) -> None:
        """Cut texts after `most` tokens, or as the model's files say; all texts get the width that a graph asks for."""
        most = most or self._bert.get("max_seq_length") or _longest(self._beside, self._folder)
        if is_half and read_object(self._folder / "config.json").get("model_type") in _FILLED:
            width = width or most
        if most := width or most:
            self._tokeniser.enable_truncation(max_length=int(most))
        self._width = width

    def arrays(self, texts: Sequence[str]) -> tuple[I64, I64, I64]:
        """Return the numbers of the tokens, a mask that is 0 behind each text, and the types of the tokens."""
        stripped = [text.strip() for text in texts]
        encodings = self._tokeniser.encode_batch_fast([text.lower() for text in stripped] if self._lower else stripped)
        width = self._width or max(1, *(len(encoding.ids) for encoding in encodings))
        ids = np.full((len(texts), width), self._padding)
        types = np.zeros_like(ids)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            count = len(encoding.ids)
            ids[row, :count], types[row, :count], mask[row, :count] = encoding.ids, encoding.type_ids, 1
        return ids, mask, types


def _padding(folder: Path, tokeniser: Any) -> int:
    said = read_object(folder / "tokenizer_config.json").get("pad_token")
    names = (said.get("content") if isinstance(said, dict) else said, "[PAD]", "<pad>")
    numbers = (tokeniser.token_to_id(name) for name in names if isinstance(name, str))
    return next((number for number in numbers if number is not None), 0)


def _longest(beside: Path, folder: Path) -> int | None:
    """Return how many tokens the model takes, as sentence-transformers finds it without its own configuration."""
    config = read_object(folder / "config.json")
    found = (
        read_object(beside / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings", (config.get("text_config") or {}).get("max_position_embeddings")),
    )
    # "no limit" is written as 10³⁰
    limits = [int(limit) for limit in found if isinstance(limit, int | float) and 0 < limit < 2**31]
    return min(limits, default=None)
