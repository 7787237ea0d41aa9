"""Lance datasets: folders that end in `.lance`. One is read at the version that it had when it was opened.

Lance is an extra.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hubless.errors import InputError, how_to_install
from hubless.vectors.arrays import F32, I64, as_float32, matrix_of

LANCE = ".lance"
_VERSIONS = "_versions"
_LAST = 2**64 - 1
"""Newer datasets name the manifest of a version by how far its number is below this."""


def open_dataset(path: Path, name: str) -> Any:
    """Return the dataset of a folder, as Lance gives it. Raises `InputError` if the package is not installed."""
    try:
        import lance  # an extra
    except ImportError as error:
        raise InputError(name, f"the package pylance for {LANCE} ({how_to_install('lance')})", "none") from error
    return lance.dataset(str(path))


def content_file(path: Path) -> Path:
    """Return the file that tells one content of a path from another: itself, and of a dataset the newest manifest."""
    if path.suffix != LANCE or not path.is_dir():
        return path
    manifests = {_version(each): each for each in (path / _VERSIONS).glob("*.manifest")}
    return manifests[max(manifests)] if manifests else path


def _version(manifest: Path) -> int:
    number = int(manifest.stem) if manifest.stem.isdecimal() else 0
    return _LAST - number if len(manifest.stem) == len(str(_LAST)) else number


@dataclass(frozen=True)
class LanceVectors:
    """A list column of a dataset, (n, d)."""

    dataset: Any = field(repr=False)
    column: str
    shape: tuple[int, int]
    name: str

    def blocks(self, rows: int) -> Iterator[F32]:
        start = 0
        for batch in self.dataset.to_batches(columns=[self.column], batch_size=rows):
            lists = batch.column(0)
            yield as_float32(matrix_of(lists, self.name, self.shape[1], start), self.name, start)
            start += len(lists)

    def take(self, rows: I64) -> F32:
        order = np.unique(rows, return_inverse=True)
        lists = self.dataset.take(order[0].tolist(), columns=[self.column]).column(0).combine_chunks()
        return as_float32(matrix_of(lists, self.name, self.shape[1])[order[1]], self.name, rows)
