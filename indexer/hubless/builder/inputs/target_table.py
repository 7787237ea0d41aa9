"""The table of targets: id, payload and what else is known of each, as they are served."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.builder.inputs.payloads import held_payload
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.encoders import Encoder
from hubless.search.segments.segment import Segment
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.vectors.ids import IdTable, write_ids
from hubless.vectors.payload import Payload
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset


@dataclass(frozen=True)
class TargetTable:
    """Of n targets their ids, payload and columns that are kept apart from it; and the encoder of their queries."""

    ids: IdTable
    payload: Payload | None
    encoder: Encoder | None
    columns: TargetColumns = NO_COLUMNS

    @classmethod
    def of(
        cls,
        ids: pa.Array,
        payload: Dataset | pa.Table | None,
        encoder: Encoder | None,
        folder: Path | None,
        names: Sequence[str] | None = None,
    ) -> "TargetTable":
        """Return ids (n,) and payload as they are served: written to a folder and mapped, or without one in memory.

        `names` are the columns of the payload; without them all.
        """
        if payload is not None and names is None:
            names = payload.schema.names
        source = open_dataset(payload) if isinstance(payload, pa.Table) else payload
        if folder is None:
            known = IdTable.of(ids)
        else:
            write_ids(ids, folder / bundle.IDS)
            known = IdTable.open(folder / bundle.IDS)
        return cls(known, held_payload(source, names, folder=folder) if source is not None and names else None, encoder)

    def fill(self, targets: Targets, occurrence: NDArray[np.integer[Any]] | None) -> Targets:
        """Return targets with what is known of them, and N_10 (2, m). Of more rows the last have no vector."""
        segments = list[Segment]()
        if occurrence is not None:
            occurrence = np.pad(occurrence, ((0, 0), (0, len(self.ids) - occurrence.shape[1])))
        start = 0
        for number, view in enumerate(targets.stored, 1):
            known = view.segment
            bare = len(self.ids) - len(targets) if number == len(targets.stored) else 0
            stop = start + len(known) + bare
            segments.append(
                replace(
                    known,
                    offsets=np.pad(known.offsets, (0, bare)),
                    ids=self.ids.part(start, stop),
                    payload=None if self.payload is None else self.payload.part(start, stop),
                    bare=np.arange(len(known), len(known) + bare),
                    occurrence=None if occurrence is None else occurrence[:, start:stop],
                    columns=self.columns[start:stop],
                )
            )
            start = stop
        return Targets.of(segments, targets.dim)
