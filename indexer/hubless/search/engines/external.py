"""Engines outside of this process, each brought by a package of its own: `hubless-NAME`, with an entry point NAME.

Ids, offsets and payload of a version lie in the catalog as always. An engine reads its own settings from the
environment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from hubless.errors import NoEngine
from hubless.progress import Steps
from hubless.search.engines.base import VectorIndex
from hubless.store.bundle import EngineRecord, Manifest, SegmentRecord
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource

GROUP = "hubless.engines"


class ExternalIndex(VectorIndex, Protocol):
    """The vectors of a segment, held and searched by another server."""

    def ladder(self) -> Sequence[dict[str, Any]]:
        """Search parameters to try, from the cheapest to the most thorough."""

    def tuned(self, defaults: Mapping[str, Any]) -> "ExternalIndex":
        """Return the same with other default parameters."""


@dataclass(frozen=True)
class Content:
    """The content of a version for an engine: targets (n, d) that have a vector, offsets (n,), and its folder."""

    collection: str
    version: str
    folder: Path
    targets: VectorSource
    offsets: F32


class Stored(NamedTuple):
    """The vectors of a version in an engine, the record that `open` finds them by, and notes for the manifest."""

    vectors: ExternalIndex
    record: EngineRecord
    notes: list[str]


class Engine(Protocol):
    """Holds and searches the vectors of versions. All methods but `check_index` raise `EngineError`."""

    @property
    def indexes(self) -> Sequence[str]:
        """The names of its kinds of index."""

    def check_index(self, name: str) -> None:
        """Raise `InputError` unless it has this kind of index."""

    def reserve(self, collection: str, version: str) -> str:
        """Return the name that will hold a version there. Raise `InputError` if it is, or may become, another's."""

    def store(self, name: str, content: Content, index: str, steps: Steps) -> Stored:
        """Store and index the targets of a version under a reserved name, or raise `InputError` if it cannot."""

    def open(self, manifest: Manifest, segment: SegmentRecord, schema: pa.Schema | None) -> ExternalIndex:
        """Return the stored vectors of a segment, whose payload has this schema, ready to be searched.

        Its name is the version that stored them.
        """

    def publish(self, record: EngineRecord) -> None:
        """Note that a version has become current. Log if that fails: no query depends on it."""

    def drop(self, collection: str, names: Mapping[str, str]) -> list[str]:
        """Drop what it holds for versions, by their ids. Return the ids of those that are gone; log the others."""


def engine_names() -> Sequence[str]:
    """Return the names of the engines that are installed."""
    return tuple(_installed())


def engine(name: str) -> Engine:
    """Return an engine. Raises `NoEngine` naming the package, if it is not installed."""
    if (entry := _installed().get(name)) is None:
        raise NoEngine("engine", f"faiss, or an engine that is installed (pip install hubless-{name})", repr(name))
    found: Engine = entry.load()
    return found


@cache
def _installed() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
