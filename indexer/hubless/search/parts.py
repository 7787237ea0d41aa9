"""What a collection is made of: read from the files of a version, or made in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections import QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.encoders import Encoder
from hubless.search.canaries import Canary
from hubless.search.delta.overlay import Numbering
from hubless.search.engines.base import Targets
from hubless.search.ranker import Ranker
from hubless.store.bundle import Manifest
from hubless.vectors.arrays import F32
from hubless.vectors.payload import PayloadRows


class Ids(Protocol):
    """The ids of n targets."""

    def __len__(self) -> int: ...

    @property
    def type(self) -> str:
        """`int64` or `string`."""

    @property
    def array(self) -> pa.Array:
        """All of them, (n,) int64 or large_string."""

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """The ids of some rows."""

    def row(self, wanted: str | int) -> int:
        """The row of an id. Raises `PointNotFound`."""

    def parse(self, text: str) -> str | int:
        """An id from its text. Raises `PointNotFound` if it cannot be one."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What a collection of n targets of d dimensions is made of. Never changed: other targets are other parts.

    Attributes
    ----------
    offsets : h (n,)
    prepared : gives what the correction does with a query beyond the offsets; asked once, with the first query
    occurrence : gives N_10 (2, n) as measured when it was built, raw and corrected, −1 for targets added since; None
        where it is not stored
    bank_sample : some queries of the bank (s, d), as `Collection.prepare` gives queries; None in bundles from before
        they were kept
    correction : gives the fitted correction, with its constant
    canary : gives the canary queries and their answers
    folder : of the version; None for what is in memory only
    numbering : how the rows came out of those of a version; None where nothing changed
    seq : the last write of the collection's log that is in here; 0 for none
    """

    manifest: Manifest
    targets: Targets
    offsets: F32
    ids: Ids
    payload: PayloadRows | None
    encoder: Encoder | None
    prepared: Callable[[], QueryTime | None]
    occurrence: Callable[[], NDArray[np.integer[Any]] | None]
    bank_sample: F32 | None
    correction: Callable[[], CentredCorrection]
    canary: Callable[[], Canary]
    folder: Path | None = None
    numbering: Numbering | None = None
    seq: int = 0

    @cached_property
    def ranker(self) -> Ranker:
        """Answers queries."""
        return Ranker(self.targets, self.offsets, self.prepared())
