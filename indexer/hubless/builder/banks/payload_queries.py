"""Queries from the payload of targets: a title or a caption is much like what people ask."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.encoders.halves import each_encoded
from hubless.errors import InputError, UnknownField, UnknownWords, names_of
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, is_text
from hubless.vectors.free_payload import free_rows, is_free
from hubless.vectors.sources import sampled_rows

MOST_PAYLOAD_QUERIES = 10_000
"""A bank of more queries corrects hardly better."""
_BATCH = 256
_OF_PAYLOAD = "payload:"


def payload_columns(given: str | Path) -> list[str] | None:
    """Return the columns that `payload:title,caption` names; None for another text."""
    name = str(given)
    return name.removeprefix(_OF_PAYLOAD).split(",") if name.startswith(_OF_PAYLOAD) else None


def payload_queries(collection: Collection, columns: Sequence[str], most: int = MOST_PAYLOAD_QUERIES) -> F32:
    """Return texts of payload columns as query vectors (b, d), at most `most`; without those of unknown words."""
    schema = collection.parts.payload_schema
    table = collection.parts.payload_table
    if schema is None or table is None:
        raise InputError("payload", "columns of texts", "none")
    texts = _key_texts(table, columns) if is_free(schema) else column_texts(table, columns)
    return encoded_texts(texts, collection.encode, columns, most)


def encoded_texts(
    texts: Sequence[str],
    encode: Callable[[Sequence[str]], F32],
    columns: Sequence[str],
    most: int = MOST_PAYLOAD_QUERIES,
) -> F32:
    """Return texts of payload columns as vectors (b, d), each once, at most `most`; without those of unknown words."""
    texts = list(dict.fromkeys(texts))
    texts = [texts[row] for row in sampled_rows(len(texts), most)]
    encoded = [
        vector
        for start in range(0, len(texts), _BATCH)
        for vector in each_encoded(encode, texts[start:][:_BATCH], (UnknownWords,))
        if isinstance(vector, np.ndarray)
    ]
    if not encoded:
        raise InputError("payload", f"texts in {', '.join(columns)} that the encoder knows", "none")
    return np.stack(encoded)


def _key_texts(table: pa.Table, keys: Sequence[str]) -> list[str]:
    objects = [row for batch in table.to_batches() for row in free_rows(batch, keys)]
    values = [row.get(key) for key in keys for row in objects]
    return [value for value in values if isinstance(value, str) and value.strip()]


def column_texts(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """Return the texts of some columns. Raises `UnknownField`, or `InputError` naming a column of something else."""
    texts: list[str] = []
    for name in columns:
        if name not in table.schema.names:
            raise UnknownField("payload", f"one of the columns {names_of(table.schema.names)}", name)
        kind = table.schema.field(name).type
        if not is_text(kind):
            raise InputError(f"payload column {name}", "texts", str(kind))
        texts += [text for text in table.column(name).to_pylist() if text and text.strip()]
    return texts
