"""The folder that an embedding fills: a part at a time, whole or not at all, so that a run goes on where it ended."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, storage_errors
from hubless.store.durable import locked, replace_text, replaced
from hubless.vectors.arrays import F32, to_arrow

PART = 256
"""Items of a part. A run that is killed loses the part that it was at."""
TARGETS, BANK, THUMBNAILS = "targets", "bank", "thumbnails"
SKIPPED_FILE, RUN_FILE = "skipped.jsonl", "embedded.json"
_DONE, _LOCK = "progress", ".lock"


@dataclass
class EmbeddedPart:
    """Results of a part: rows of payload and their vectors, texts of the bank and theirs, and what was skipped."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[F32] = field(default_factory=list)
    texts: list[dict[str, Any]] = field(default_factory=list)
    text_vectors: list[F32] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)


class EmbedFolder:
    """Shards of targets and of the bank as Parquet, and what was skipped."""

    def __init__(self, folder: Path, run: dict[str, Any], schemas: dict[str, pa.Schema]) -> None:
        self.folder = folder
        self.run = run
        self._schemas = schemas

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, run: dict[str, Any], schemas: dict[str, pa.Schema]) -> Iterator["EmbedFolder"]:
        """Hold the folder for a run, which says what is embedded and how. Raises `InputError` if another run filled it.

        `schemas` are the columns of targets and bank, without the vectors.
        """
        with storage_errors(folder):
            visible = folder.is_dir() and any(not file.name.startswith(".") for file in folder.iterdir())
            if visible and not (folder / RUN_FILE).exists():
                raise InputError("output", "a new folder, or one that embed began", f"{folder}, which has other files")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with locked(folder / _LOCK, wait=False):
                    found = cls(folder, run, schemas)
                    found._begin()
                    yield found
            except BlockingIOError as error:
                raise InputError("output", "a folder that no other run fills", str(folder)) from error

    def _begin(self) -> None:
        file = self.folder / RUN_FILE
        if not file.exists():
            replace_text(file, json.dumps(self.run))
        (self.folder / _DONE).mkdir(exist_ok=True)
        before = json.loads(file.read_text("utf-8"))
        for name, value in self.run.items():
            if before.get(name) != value:
                expected = f"the folder of a run with the same {name}; take a new folder for another one"
                raise InputError("output", expected, f"{self.folder}, begun with another {name}")
        self.run = before

    @property
    def is_done(self) -> bool:
        return "count" in self.run

    def missing(self, count: int) -> dict[int, range]:
        """Return the parts that are not written yet, and the numbers of their items."""
        parts = {start // PART: range(start, min(start + PART, count)) for start in range(0, count, PART)}
        return {number: items for number, items in parts.items() if not self._mark(number).exists()}

    def write(self, number: int, part: EmbeddedPart) -> None:
        """Write a part. Its mark comes last, so a part without a mark is made again."""
        self._shard(TARGETS, number, part.rows, part.vectors)
        self._shard(BANK, number, part.texts, part.text_vectors)
        counts = {"count": len(part.rows), "queries": len(part.texts), "skipped": part.skipped}
        replace_text(self._mark(number), json.dumps(counts))

    def finish(self, count: int, skipped: Sequence[dict[str, Any]], dim: int) -> None:
        """Count the parts, and list what was skipped: first what was found, then what could not be read."""
        numbers = range(-(-count // PART))
        marks = [json.loads(self._mark(number).read_text("utf-8")) for number in numbers]
        listed = [*skipped, *(each for mark in marks for each in mark["skipped"])]
        lines = list(dict.fromkeys(json.dumps(each, ensure_ascii=False) + "\n" for each in listed))
        replace_text(self.folder / SKIPPED_FILE, "".join(lines).encode("utf-8", "replace").decode())
        totals = {name: sum(mark[name] for mark in marks) for name in ("count", "queries")}
        self.run = self.run | totals | {"skipped": len(lines), "dim": dim}
        if totals["count"]:
            replace_text(self.folder / RUN_FILE, json.dumps(self.run))
            rmtree(self.folder / _DONE)

    def _mark(self, number: int) -> Path:
        return self.folder / _DONE / f"{number:05}.json"

    def _shard(self, kind: str, number: int, rows: list[dict[str, Any]], vectors: list[F32]) -> None:
        if not rows:
            return
        matrix = np.ascontiguousarray(np.stack(vectors), np.float32)
        column = pa.FixedSizeListArray.from_arrays(to_arrow(matrix.ravel()), matrix.shape[1])
        table = pa.Table.from_pylist(rows, self._schemas[kind]).append_column("vector", column)
        (self.folder / kind).mkdir(exist_ok=True)
        with replaced(self.folder / kind / f"{number:05}.parquet") as file:
            pq.write_table(table, file)
