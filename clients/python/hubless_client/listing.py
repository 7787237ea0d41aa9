"""The common form of answers that list something."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Sequence[T_co]):
    """A sequence, and where it comes from. Iterate it, index it, slice it, ask for its len().

    Attributes
    ----------
    items : what it lists
    collection, version : what the server read it from
    request_id : the id of the request in the server's log
    """

    items: tuple[T_co, ...]
    collection: str
    version: str
    request_id: str | None = None

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> T_co: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, place: int | slice) -> T_co | tuple[T_co, ...]:
        return self.items[place]
