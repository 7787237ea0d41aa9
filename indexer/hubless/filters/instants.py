"""Texts that are times with their offset, such as 2026-01-31T12:30:00+01:00, as the instants that they mean."""

import re
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

INSTANT = pa.timestamp("us", "UTC")
"""What is finer than a microsecond is cut off."""
_FORM = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[-+][0-9]{2}(:?[0-9]{2})?)$"


def instant_of(text: str) -> datetime | None:
    """Return the time that a text is; None for one without an offset, and for any other text."""
    try:
        return datetime.fromisoformat(text.upper()) if re.fullmatch(_FORM, text) else None
    except ValueError:  # such as the 31st of February
        return None


def instants(texts: pa.Array) -> pa.Array:
    """Return the times that texts are, null for a text that is none."""
    # pc.if_else mixes up the texts of a slice before Arrow 24
    alike = pc.case_when(pc.make_struct(pc.match_substring_regex(texts, _FORM)), texts)
    try:
        return alike.cast(INSTANT)
    except pa.ArrowInvalid:  # one of them is no time, or one that only Python reads
        return pa.array([text and instant_of(text) for text in alike.to_pylist()], INSTANT)
