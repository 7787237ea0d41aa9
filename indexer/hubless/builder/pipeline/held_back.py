"""Targets whose offset stands alone are named, in the manifest and in the log."""

import logging
from dataclasses import replace

import pyarrow as pa

from hubless.measures.bank_record import BankRecord
from hubless.vectors.arrays import I64, to_arrow

_log = logging.getLogger("hubless.banks")

SHOWN, MOST_NAMED = 10, 100
"""So many are named in a sentence, and in the manifest."""


def naming_held_back(bank: BankRecord | None, ids: pa.Array, rows: I64 | None) -> tuple[BankRecord | None, list[str]]:
    """Return the record of a bank with the ids of targets in these rows, whose offsets are held back, and a note."""
    if bank is None or rows is None or not len(rows):
        return bank, []
    named = ids.take(to_arrow(rows)).to_pylist()
    more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
    note = (
        f"With this bank the offset of {len(named):,} of {len(ids):,} targets stands alone: "
        f"{', '.join(map(repr, named[:SHOWN]))}{more}. It is held back. Bank queries may have been made to bury these "
        "targets, or they are planted hubs: look at them, and at the bank."
    )
    _log.warning(note)
    return replace(bank, held_back=tuple(named[:MOST_NAMED])), [note]
