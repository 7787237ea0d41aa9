"""Segments as they are stored, and what is made of them once."""

from dataclasses import dataclass

import numpy as np

from hubless.kernels.forks import cached_property
from hubless.knn.exhaustive import stored
from hubless.search.engines.embedded import FaissIndex
from hubless.search.segments.memory import MemoryIndex
from hubless.search.segments.segment import Segment
from hubless.vectors.arrays import F32

MOST_SMALL = 4096
"""Targets of a segment that is searched together with others: to search it by itself costs more than to copy it."""


@dataclass(frozen=True, eq=False)
class StoredSegments:
    """Segments as they are stored, and what is made of them once, whatever goes."""

    segments: tuple[Segment, ...]

    @cached_property
    def offsets(self) -> F32:
        every = [segment.offsets for segment in self.segments]
        return every[0] if len(every) == 1 else np.concatenate(every)

    @cached_property
    def small(self) -> int:
        """The number of the first of the last segments that are small: several of them are searched as one."""
        first = len(self.segments)
        while first and _is_small(self.segments[first - 1]):
            first -= 1
        return first if first < len(self.segments) - 1 else len(self.segments)

    @cached_property
    def together(self) -> MemoryIndex:
        """The vectors of the small segments, copied."""
        indexes = [segment.index for segment in self.segments[self.small :]]
        rows = [stored(index.index) for index in indexes if isinstance(index, FaissIndex)]
        return MemoryIndex(indexes[0].dim, np.concatenate(rows))


def _is_small(segment: Segment) -> bool:
    index = segment.index
    flat = isinstance(index, FaissIndex) and index.is_flat
    return flat and segment.stamps is not None and len(segment) <= MOST_SMALL
