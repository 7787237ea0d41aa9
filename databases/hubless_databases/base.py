"""The protocol of a database, and what its kinds share: names, pages, and fits as bytes or texts."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F32
from hubless.vectors.comparing import comparison
from hubless.vectors.npy import open_npz

PAGE = 1_000

RowId = str | int


@dataclass(frozen=True)
class Page:
    """Some rows: their ids, vectors (r, d), and payload where it was asked for."""

    ids: list[RowId]
    vectors: F32
    payload: list[dict[str, Any]]

    def only(self, rows: list[int]) -> "Page":
        """Return some of the rows."""
        payload = [self.payload[row] for row in rows] if self.payload else []
        return Page([self.ids[row] for row in rows], self.vectors[rows], payload)


@dataclass(frozen=True)
class Asking:
    """Inputs of the query lines: the metric, the strength, and the numbers of a vector with its offset, d + 1.

    By distance the strength is written with the offset, above a `floor` that is below all offsets.
    """

    metric: str
    strength: float
    width: int
    floor: float = 0.0

    @property
    def by_distance(self) -> bool:
        """True if corrected vectors are compared by distance, and not by inner product."""
        return comparison(self.metric).squared

    @property
    def last(self) -> float:
        """The last number of a query."""
        return 0.0 if self.by_distance else self.strength

    def written(self, vectors: F32, offsets: F32) -> F32:
        """Return vectors (r, d) with their offsets (r,): [t, −h], or by distance [t, √(2λ(h − floor))].

        The squared distance of the latter from [q, 0] is |q − t|² + 2λh, but for a constant.
        """
        last = -offsets
        if self.by_distance:
            last = np.sqrt(2 * self.strength * np.maximum(offsets - np.float32(self.floor), 0))
        return np.column_stack([vectors, last]).astype(np.float32)

    @property
    def vector(self) -> str:
        """The query in Python, of length 1 if the metric asks for it, and its last number."""
        unit = "q / np.linalg.norm(q)" if self.metric == "cosine" else "q"
        return f"[*({unit}).tolist(), {self.last:g}]"


class Database(Protocol):
    """A table or a collection of a database.

    A correction has a name, `into`. It is written beside the current one of that name, and `swap` replaces that by one
    step of the database. A process that is killed before leaves the current one whole; `begin` removes its remains.
    """

    title: str
    scores: tuple[str, str] = "", ""
    """Expressions in Python of the scores of `hits`, by inner product and by distance."""

    def find(self) -> None:
        """Find the table and its columns. Raises `InputError` naming what is not there, and what is."""

    def prepare(self, into: str, metric: str | None, *, reads: bool = True) -> None:
        """Hold the table against other corrections until `close`, and ask now what would stop the work later.

        Called before the vectors are read. `metric` compares them; None stands for the metric of the stored fit, of
        which new rows are going to get offsets. Without `reads` the vectors come from elsewhere. Raises `InputError`.
        """

    def count(self) -> int:
        """Return the number of rows."""

    def pages(self, *, lacking: str | None = None, payload: bool = True) -> Iterator[Page]:
        """Yield the rows that have a vector.

        With `lacking` only those without the correction of this name, or with one of another vector.
        """

    def begin(self, into: str, width: int) -> None:
        """Make an empty place for a correction, of vectors of `width` numbers."""

    def write(self, into: str, ids: Sequence[RowId], augmented: F32, *, live: bool = False) -> int:
        """Write vectors (r, width) to the new place, or to the current correction.

        Returns how many were written: an id that is not there, or has another vector now, gets none.
        """

    def swap(self, into: str, fit: bytes, asking: Asking) -> None:
        """Replace the current correction and its fit by those that are new."""

    def fit(self, into: str) -> bytes | None:
        """Return the fit of the current correction; None if there is none."""

    def finish(self, into: str) -> None:
        """Remove what the rows no longer have, after new ones were written; nothing where a row takes it along."""

    def undo(self, into: str | None) -> list[str]:
        """Remove what corrections made, all of them or the one of this name. Return the name of each thing that went.

        Rows, columns and metadata of the owner stay as they were. Remains of runs that were killed go too.
        """

    def query_lines(self, into: str, asking: Asking) -> str:
        """Return lines that ask for ten rows, with a filter."""

    def answer_lines(self, into: str, asking: Asking, cut: Mapping[str, Any]) -> str:
        """Return lines that say whether to answer, by the hits that the query lines find and the numbers of a cut."""
        asked = "accept(scores, accuracy=0.9)" if cut["pairs"] else "confidence(scores)"
        scores = self.scores[asking.by_distance]
        return f"scores = {scores}\ncut = hubless.Cut.from_json({dict(cut)})\ncut.{asked}"

    def close(self) -> None:
        """End the connection."""


_ABOUT = "about"


def packed(state: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Return a fitted correction as bytes: its arrays, and in JSON what they are."""
    held = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(held, **{**state, _ABOUT: text})  # type: ignore[arg-type]
    return held.getvalue()


def unpacked(fit: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a packed fit, and what they are. Raises what `open_npz` does for anything else."""
    with open_npz(io.BytesIO(fit)) as held:
        if held.size > len(fit):
            raise ValueError(f"it unpacks to {held.size} bytes, and has {len(fit)}")
        state = dict(held)
    return state, json.loads(state.pop(_ABOUT).tobytes())
