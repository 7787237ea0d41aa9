"""The right targets of test queries, of which at least one has some."""

from collections.abc import Sequence

from hubless.errors import InputError
from hubless.measures.labels import KnownItems, Labels, right_rows
from hubless.vectors.arrays import I64
from hubless.vectors.readers.columns import Column

NAMED_ROWS = 10


def measured_rows(labels: Labels | Column | None, targets: KnownItems, queries: KnownItems) -> list[I64]:
    """Return the rows of the right targets of each query, as `right_rows`; at least one query needs to have some.

    Raises `InputError` if none has.
    """
    rows = right_rows(labels, targets, queries)
    check_some_right(rows)
    return rows


def check_some_right(rows: Sequence[I64 | None]) -> None:
    """Raise `InputError` if no query has a right target."""
    if not any(each is not None and len(each) for each in rows):
        raise InputError("relevant", "a right target for at least one query", "none")


def left_out_note(rows: Sequence[int], queries: int, lacking: str = "relevant target") -> list[str]:
    """Return a note on the rows of queries that lack something, by default a relevant target, if there are any."""
    if not len(rows):
        return []
    named = ", ".join(map(str, rows[:NAMED_ROWS])) + (", …" if len(rows) > NAMED_ROWS else "")
    return [f"{len(rows)} of {queries} queries have no {lacking} and are left out: rows {named}"]
