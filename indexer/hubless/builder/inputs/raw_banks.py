"""Query banks that a build makes itself: of a sample of live queries, or of texts in the payload of the targets."""

import logging
from pathlib import Path

from hubless.builder.banks.payload_queries import column_texts, encoded_texts, payload_columns
from hubless.builder.inputs.bank_table import QUERY_BANK
from hubless.encoders import Encoder
from hubless.errors import InputError, NoEncoder, UnknownField, advice, names_of
from hubless.store.query_sample import QuerySample, holds_sample, read_sample
from hubless.vectors.arrays import F32
from hubless.vectors.files import Items, Vectors
from hubless.vectors.readers.arrow_rows import reading_payload
from hubless.vectors.sources import HeldVectors

_log = logging.getLogger("hubless.banks")


def raw_bank(given: Vectors | None, targets: Items, encoder: Encoder | None) -> tuple[Items, tuple[str, ...]] | None:
    """Return queries as they were asked, and the client of each; or texts as queries, and none. Else None.

    `given` is a folder of the query sample, or `payload:` with columns of the targets' payload.
    Raises `NoEncoder` without one for texts, `UnknownField`, or `InputError` naming what is wrong.
    """
    if not isinstance(given, str | Path):
        return None
    if (columns := payload_columns(given)) is not None:
        return Items(HeldVectors(_of_payload(columns, targets, encoder), QUERY_BANK)), ()
    sample = sample_at(given)
    return None if sample is None else (Items(HeldVectors(sample.vectors, QUERY_BANK)), sample.clients)


def sample_at(path: str | Path) -> QuerySample | None:
    """Return the live queries of a folder or a file of the query sample; the log says what is skipped. Else None."""
    if not holds_sample(path):
        return None
    sample = read_sample(path)
    for file, why in sample.skipped.items():
        _log.warning(f"{file} is left out: it is {why}")
    return sample


def _of_payload(columns: list[str], targets: Items, encoder: Encoder | None) -> F32:
    if encoder is None:
        raise NoEncoder(QUERY_BANK, f"an encoder{advice(' ({})', 'encoder')}, which makes queries of texts", "none")
    if targets.payload is None:
        raise InputError(QUERY_BANK, "a payload that has texts", "none")
    if unknown := set(columns) - set(targets.payload_columns):
        raise UnknownField(QUERY_BANK, f"columns of the payload: {names_of(targets.payload_columns)}", min(unknown))
    with reading_payload():
        table = targets.payload.to_table(columns=columns)
    return encoded_texts(column_texts(table, columns), encoder.encode, columns)
