"""Targets whose offset stands alone are named, in the manifest and in the log."""

import logging
from dataclasses import replace

import pyarrow as pa

from hubless.builder.pipeline.draft import VersionDraft
from hubless.measures.bank_record import BankRecord
from hubless.vectors.arrays import to_arrow

_log = logging.getLogger("hubless.banks")

SHOWN, MOST_NAMED = 10, 100
"""So many are named in a sentence, and in the manifest."""


def naming_held_back(draft: VersionDraft, ids: pa.Array) -> VersionDraft:
    """Return a version that says whose offsets are held back. `ids` are those of all its targets."""
    bank: BankRecord | None = draft.about["bank"]
    if draft.held_back is None or not len(draft.held_back) or bank is None:
        return draft
    named = ids.take(to_arrow(draft.held_back)).to_pylist()
    more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
    note = (
        f"With this bank the offset of {len(named):,} of {len(ids):,} targets stands alone: "
        f"{', '.join(map(repr, named[:SHOWN]))}{more}. It is held back. Bank queries may have been made to bury these "
        "targets, or they are planted hubs: look at them, and at the bank."
    )
    _log.warning(note)
    record = replace(bank, held_back=named[:MOST_NAMED])
    return replace(draft, about={**draft.about, "bank": record, "notes": [*draft.about["notes"], note]})
