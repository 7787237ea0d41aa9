"""The folder that an embedding fills: a shard at a time, whole or not at all, so that a run goes on where one ended."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, storage_errors
from hubless.store.durable import locked, replace_text, replaced

MAY_BE_GONE = 0.2
"""The share of what was embedded that a source may lose. With more it is another one, or a disk is not mounted."""
TARGETS, BANK, THUMBNAILS = "targets", "bank", "thumbnails"
SKIPPED_FILE, RUN_FILE = "skipped.jsonl", "embedded.json"
_LOCK, _STAMPS = ".lock", b"stamps"
_Rows: TypeAlias = list[dict[str, Any]]


@dataclass
class EmbeddedPart:
    """Results of a part: rows of payload and of texts of the bank, each with its vector, and what was skipped."""

    rows: _Rows = field(default_factory=list)
    texts: _Rows = field(default_factory=list)
    skipped: _Rows = field(default_factory=list)


@dataclass(eq=False)
class EmbedFolder:
    """Shards of targets and of the bank as Parquet, which tell what each row was made of; and what was skipped."""

    folder: Path
    recipe: str
    schemas: dict[str, pa.Schema]
    known: dict[Any, str] = field(default_factory=dict)
    """Stamps of all that is embedded, or was, by id."""
    is_other: bool = False
    """Whether it was embedded by another recipe."""
    number: int = -1
    """Of the last shard."""

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, recipe: str, schemas: dict[str, pa.Schema]) -> Iterator["EmbedFolder"]:
        """Hold the folder for a run. Raises `InputError` if another one does, or something else filled it.

        The recipe is all that vectors depend on besides the source. `schemas` are the columns of targets and bank.
        """
        with storage_errors(folder):
            visible = folder.is_dir() and any(not file.name.startswith(".") for file in folder.iterdir())
            if visible and not (folder / RUN_FILE).exists():
                raise InputError("output", "a new folder, or one that embed began", f"{folder}, which has other files")
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with locked(folder / _LOCK, wait=False):
                    yield cls(folder, recipe, schemas)
            except BlockingIOError as error:
                raise InputError("output", "a folder that no other run fills", str(folder)) from error

    def keep(self, stamps: Mapping[Any, str]) -> set[Any]:
        """Take out the rows whose ids have other stamps now, or none. Return the ids that stay.

        Raises `InputError`, and takes nothing out, if the source has lost too many of them.
        """
        shards = {file.name: pq.ParquetFile(file).read(["id"]) for file in self._files(TARGETS)}
        for shard in shards.values():
            said = json.loads((shard.schema.metadata or {}).get(_STAMPS, "[]"))
            self.known |= zip(shard["id"].to_pylist(), said, strict=False)
        if (gone := len(self.known.keys() - stamps.keys())) > MAY_BE_GONE * len(self.known):
            expected = f"the one that {self.folder} was filled from; take a new folder for another one"
            raise InputError("source", expected, f"one without {gone:,} of its {len(self.known):,} items")
        run = self.folder / RUN_FILE
        self.is_other = run.exists() and run.read_text("utf-8") != self.recipe
        replace_text(run, self.recipe)
        stay = {item for item, stamp in self.known.items() if stamps.get(item) == stamp}
        for name, shard in shards.items():
            if not stay.issuperset(shard["id"].to_pylist()):
                self._cut(BANK, name, "of", set(map(str, stay)))
                self._cut(TARGETS, name, "id", stay)
            self.number = int(Path(name).stem)
        return stay

    def write(self, part: EmbeddedPart, stamps: Mapping[Any, str]) -> None:
        """Write a shard. Its targets come last, so without them it is made again."""
        self.number += 1
        self.known |= {row["id"]: stamps[row["id"]] for row in part.rows}
        for kind, rows in ((BANK, part.texts), (TARGETS, part.rows)):
            table = pa.Table.from_pylist(rows, self.schemas[kind])
            self._replace(self.folder / kind / f"{self.number:05}.parquet", table)

    def finish(self, skipped: _Rows) -> dict[str, int]:
        """List what was skipped. Return the numbers of targets, of texts of the bank, and of what was skipped."""
        lines = list(dict.fromkeys(json.dumps(each, ensure_ascii=False) + "\n" for each in skipped))
        replace_text(self.folder / SKIPPED_FILE, "".join(lines).encode("utf-8", "replace").decode())
        count, queries = (
            sum(pq.read_metadata(file).num_rows for file in self._files(kind)) for kind in (TARGETS, BANK)
        )
        return {"count": count, "queries": queries, "skipped": len(lines)}

    def _files(self, kind: str) -> list[Path]:
        return sorted((self.folder / kind).glob("*.parquet"))

    def _cut(self, kind: str, name: str, column: str, stay: set[Any]) -> None:
        if (file := self.folder / kind / name).exists():
            table = pq.ParquetFile(file).read()
            self._replace(file, table.filter(pa.array([each in stay for each in table[column].to_pylist()])))

    def _replace(self, file: Path, table: pa.Table) -> None:
        if not len(table):
            file.unlink(missing_ok=True)
            return
        if file.parent.name == TARGETS:
            stamps = [self.known[item] for item in table["id"].to_pylist()]
            table = table.replace_schema_metadata({_STAMPS: json.dumps(stamps)})
        file.parent.mkdir(exist_ok=True)
        with replaced(file) as new:
            pq.write_table(table, new)
