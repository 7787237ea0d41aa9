"""Things that are told a moment after an answer, together: one by one they would cost as much as a small search."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

TICK = 0.02
"""Seconds in which things come together."""
_T = TypeVar("_T")


class Later(Generic[_T]):
    """Things that wait to be told. Whoever needs what they tell calls `now` first, from any thread."""

    def __init__(self, tell: Callable[[Sequence[_T]], None]) -> None:
        self._tell = tell
        self._waiting: deque[_T] = deque()

    def add(self, thing: _T) -> None:
        """Have a thing told within a tick. In the event loop."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(TICK, self.now)
        self._waiting.append(thing)

    def now(self) -> None:
        """Tell all that waits."""
        things: list[_T] = []
        while self._waiting:
            things.append(self._waiting.popleft())
        if things:
            self._tell(things)
