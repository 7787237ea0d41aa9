"""Faults made by hand, as slips of a maintainer would be, and the tests that are to catch each: one table a room.

A row of `ROOM.toml` has the `file` in a package, a text that stands there once (`old`) and what takes its place
(`new`), `why` it matters, and `tests`: files, of which those of the same
room stand beside the code.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACES = {"hubless": ROOT / "indexer", "hubless_service": ROOT / "service"}


class Fault(NamedTuple):
    """A row of a table: its tests are those of the same room, and others. Their paths begin at the folder of all."""

    name: str
    file: Path
    old: str
    new: str
    why: str
    beside: list[str]
    elsewhere: list[str]

    def text(self) -> str:
        """Return the file with the fault in it. Raises `ValueError` unless the old text stands there once."""
        text = (PLACES[self.file.parts[0]] / self.file).read_text("utf-8")
        if (times := text.count(self.old)) != 1 or self.old == self.new:
            raise ValueError(f"{self.name}: the old text stands {times} times in {self.file}")
        return text.replace(self.old, self.new)


def _fault(table: Path, number: int, row: dict[str, Any]) -> Fault:
    room = table.stem
    file = Path(row["file"])
    beside = [each for each in row["tests"] if each.startswith(f"{room}/")]
    elsewhere = [each for each in row["tests"] if each not in beside]
    return Fault(f"{room} {number}", file, row["old"], row["new"], row["why"], beside, elsewhere)


FAULTS = [
    _fault(table, number, row)
    for table in sorted(HERE.glob("*.toml"))
    for number, row in enumerate(tomllib.loads(table.read_text("utf-8"))["fault"], 1)
]
