"""Settings of the papers' tables, which stand as data in `presets/`: one file a paper, one entry a table."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from hubless.errors import InputError


@dataclass(frozen=True)
class Preset:
    """The contents of a paper's tables, as on the command line. With `test_queries` these are the bank, a leak."""

    paper: str
    tables: Sequence[str]
    shows: str
    corrections: Sequence[str]
    settings: Sequence[str] = field(default_factory=list)
    test_queries: bool = False


@cache
def _all() -> list[Preset]:
    found = sorted(files("hubless_lab").joinpath("presets").iterdir(), key=lambda file: file.name)
    return [
        Preset(file.name.removesuffix(".toml"), **entry)
        for file in found
        for entry in tomllib.loads(file.read_text("utf-8"))["entry"]
    ]


def presets_of(paper: str | None = None) -> list[Preset]:
    """Return the entries of one paper, or of all; raise `InputError` for an unknown one."""
    found = [one for one in _all() if paper in (None, one.paper)]
    if not found:
        raise InputError("paper", f"one of {', '.join(dict.fromkeys(one.paper for one in _all()))}", paper)
    return found


def preset(paper: str, table: str) -> Preset:
    """Return the entry of a table, or raise `InputError` that names the known ones."""
    known = {name: one for one in presets_of(paper) for name in one.tables}
    if table not in known:
        raise InputError("table", f"one of {', '.join(known)}", table)
    return known[table]
