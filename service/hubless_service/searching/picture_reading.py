"""Pictures are decoded one at a time, as each may take 300 MB: small ones in one thread, large ones in another."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from hubless.errors import InputError
from hubless.vectors.readers.pictures import PictureSource, pixels_of
from hubless_service.http.trace import Trace
from hubless_service.searching.work_queue import WorkQueue

LARGE = 4_000_000
"""Pixels beyond which a picture waits among the large ones. Fewer are decoded in 0.1 s or so."""
MOST_TOGETHER = 100_000_000
"""Pixels of all pictures of a request."""
_T = TypeVar("_T")


class PictureReading(NamedTuple):
    """The two queues of a worker for pictures, of one thread each: for queries and for thumbnails, whoever asks."""

    small: WorkQueue
    large: WorkQueue

    async def pixels(self, trace: Trace, deadline: float, source: PictureSource, parameter: str = "picture") -> int:
        """Return the pixels of a picture by its head. Raises `InputError` if those of the request become too many."""
        found = await self.read(trace, deadline, 0, partial(pixels_of, source, parameter))
        trace.pixels += found
        if trace.pixels > MOST_TOGETHER:
            raise InputError(parameter, f"pictures of at most {MOST_TOGETHER:,} pixels in all", f"{trace.pixels:,}")
        return found

    async def read(self, trace: Trace, deadline: float, pixels: int, work: Callable[[], _T]) -> _T:
        """Do some work with a picture of so many pixels when it is its turn, unless time is over or nobody waits."""
        queue = self.large if pixels > LARGE else self.small
        # they share a key, so that the queue learns how long one takes, and refuses what would wait for too long
        return await queue.run(trace, deadline, work, "picture")
