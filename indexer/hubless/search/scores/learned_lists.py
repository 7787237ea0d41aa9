"""The lists that a correction of scores learns from: those that were put, and a sample of those that it is asked.

    <home>/put.parquet        the lists that were put: `ids`, `scores`
    <home>/labelled.json      those with labels
    <home>/20261127.parquet   lists that were asked on that day: `ids`, `scores`, `draw`, `count`, `client`
    <home>/.fitted            how many of these there were at the last fit

A day keeps the 1,000 lists with the lowest draws, for 20 days; lists with the same items in the same order are one. No
client counts for more than a tenth of all lists, unless it is trusted.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hubless.search.scores.logged_lists import ScoreLists
from hubless.search.scores.reading import read_lists
from hubless.search.scores.score_correction import ScoreCorrection
from hubless.store.draws import DAY, DAY_FILE, Salt, check_free, forget_days, lowest_draws
from hubless.store.durable import make_folder, replace_text, replaced
from hubless.vectors.arrays import F64

DAYS, LISTS_OF_A_DAY, OF_ONE_CLIENT = 20, 1000, 250
"""Lists are kept so long, so many of a day, and so many of one client in a day."""
TENTH = 10
"""A client counts for one in so many lists at most."""
NEW_LISTS, NEW_SHARE = 100, 0.1
"""It is fitted anew when so many lists came since, and this share of those before; or after a day, if any came."""
WIDEST = 2.0
"""Lists count up to so many times the width, from the first score to the last, of the widest that was put. One of
another unit would set the temperature alone."""
_MOST_HITS, _LONGEST = 100, 10_000
"""Hits of a list that are kept, and bytes of their ids at most."""
_DAY_SECONDS = 86_400
_PUT, _LABELLED, _FITTED = "put.parquet", "labelled.json", ".fitted"
_KEY = b"hubless.learned"
_LISTS = ["ids", "scores"]

_log = logging.getLogger("hubless.sample")


class AskedList(NamedTuple):
    """A list of ids and scores in any order, and who sent it: a name, or a key's digest or an address."""

    ids: Sequence[Any]
    scores: Sequence[float]
    client: str | bytes


@dataclass(frozen=True)
class PutLists:
    """The lists that were put to learn from: past ones, others with labels, and clients that ask for many people."""

    lists: ScoreLists
    distance: bool = False
    labelled: Sequence[dict[str, Any]] = ()
    trusted: Sequence[str] = ()

    def table(self) -> pa.Table:
        """Return the lists as they are stored."""
        given = self.lists
        starts = pa.array(given.starts.astype(np.int32))
        scores = -given.scores if self.distance else given.scores
        parts = given.ids.take(pa.array(given.columns)), pa.array(scores)
        said = {"distance": self.distance, "trusted": list(self.trusted)}
        table = pa.table([pa.ListArray.from_arrays(starts, part) for part in parts], _LISTS)
        return table.replace_schema_metadata({_KEY: orjson.dumps(said)})


class LearnedLists:
    """The lists of one correction. Whoever changes them holds the lock of the catalog's corrections."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.put = home / _PUT

    def begin(self, put: PutLists) -> None:
        """Keep what was put, and forget what was asked before."""
        make_folder(self.home)
        self.home.chmod(0o700)
        for path in self._days():
            path.unlink()
        replace_text(self.home / _LABELLED, orjson.dumps(put.labelled).decode())
        replace_text(self.home / _FITTED, "0")
        _write(self.put, put.table())

    def add(self, asked: Iterable[AskedList], salt: Salt, now: float) -> None:
        """Add lists that were asked to those of the day; without those of one hit, or of ids of another type."""
        schema = pq.read_schema(self.put)
        path = self.home / f"{datetime.fromtimestamp(now, UTC).strftime(DAY)}.parquet"
        tables = [table for table in [_read(path)] if table is not None]
        if fresh := [row for each in asked if (row := _row(each, salt, schema))]:
            tables.append(pa.Table.from_pylist(fresh, _schema(schema)))
            trusted = orjson.loads(schema.metadata[_KEY])["trusted"]
            _write(path, lowest_draws(tables, LISTS_OF_A_DAY, OF_ONE_CLIENT, trusted))
        forget_days(self.home, "*.parquet", now, DAYS)

    def kept(self) -> int:
        """Return how many lists are kept of those that were asked."""
        count = 0
        for path in self._days():
            with suppress(pa.ArrowException, OSError):  # it is damaged, or gone
                count += pq.read_metadata(path).num_rows
        return count

    def is_due(self, now: float) -> bool:
        """Return whether enough lists came since the last fit."""
        fitted = self.home / _FITTED
        before = int(fitted.read_text("utf-8"))
        then = fitted.stat().st_mtime
        kept = self.kept()
        if kept - before >= max(NEW_LISTS, NEW_SHARE * before):
            return True
        return now - then >= _DAY_SECONDS and any(path.stat().st_mtime > then for path in self._days())

    def fitted(self) -> ScoreCorrection:
        """Return the correction fitted on what was put and what counts of what was asked."""
        put = pq.read_table(self.put)
        said = orjson.loads(put.schema.metadata[_KEY])
        put, distance = put.replace_schema_metadata(None), said["distance"]
        first = read_lists(put, distance=distance)
        live = self._counting(first, said["trusted"])
        lists = first if live is None else read_lists(pa.concat_tables([put, live]), distance=distance)
        made = ScoreCorrection.of(lists, distance=distance)
        if labelled := orjson.loads((self.home / _LABELLED).read_bytes()):
            made = made.calibrate(labelled, [each["relevant"] for each in labelled])
        return replace(made, details=made.details | {"learned": 0 if live is None else live.num_rows})

    def note_fit(self, kept: int) -> None:
        """Note that it was fitted when so many lists were kept."""
        replace_text(self.home / _FITTED, str(kept))

    def _counting(self, put: ScoreLists, trusted: Sequence[str]) -> pa.Table | None:
        """Return the lists that count of those that were asked; None if none does."""
        tables = [table for path in self._days() if (table := _read(path)) is not None]
        if not tables:
            return None
        live = lowest_draws(tables, DAYS * LISTS_OF_A_DAY, DAYS * LISTS_OF_A_DAY)
        widest = WIDEST * float(_widths(put.scores, put.starts).max())
        scores = live["scores"].combine_chunks()
        starts = np.concatenate([[0], np.cumsum(pc.list_value_length(scores).to_numpy())])
        flat = np.asarray(scores.flatten().to_numpy(), np.float64)
        live = live.filter(pa.array(_widths(flat, starts) <= widest))
        clients = live["client"].to_pylist()
        asked = Counter(client for client in clients if client not in trusted)
        others = len(put.distinct()[0]) + len(clients) - asked.total()
        most = most_of_each(others, [*asked.values()])
        kept = list[int]()
        of_client = Counter[str]()
        for row, client in enumerate(clients):
            of_client[client] += 1
            if client in trusted or of_client[client] <= most:
                kept.append(row)
        return live.take(pa.array(kept, pa.int64())).select(_LISTS) if kept else None

    def _days(self) -> list[Path]:
        return sorted(path for path in self.home.glob("*.parquet") if DAY_FILE.fullmatch(path.name))


def most_of_each(others: int, asked: Sequence[int]) -> int:
    """Return the largest c with c ≤ (others + Σ min(asked, c))/10: so many lists of a client count."""
    most = max(asked, default=0)
    while most > (fits := (others + sum(min(count, most) for count in asked)) // TENTH):
        most = fits
    return most


def _row(asked: AskedList, salt: Salt, put: pa.Schema) -> dict[str, Any] | None:
    """Return a list as it is stored; None if it says nothing of the items that were put."""
    kind = int if pa.types.is_integer(put.field("ids").type.value_type) else str
    if len(asked.ids) < 2 or not all(type(each) is kind for each in asked.ids):
        return None
    down = orjson.loads(put.metadata[_KEY])["distance"]
    order = sorted(range(len(asked.ids)), key=asked.scores.__getitem__, reverse=not down)[:_MOST_HITS]
    ids, scores = ([values[place] for place in order] for values in (asked.ids, asked.scores))
    said = orjson.dumps(ids)
    if len(said) > _LONGEST:
        return None
    values = ids, scores, salt.draw(said), 1, salt.label(asked.client)
    return dict(zip([*_LISTS, "draw", "count", "client"], values, strict=True))


def _schema(put: pa.Schema) -> pa.Schema:
    drawn = [("draw", pa.uint64()), ("count", pa.int64()), ("client", pa.string())]
    return pa.schema([*((name, put.field(name).type) for name in _LISTS), *drawn])


def _widths(scores: F64, starts: Any) -> F64:
    """Return how far the largest score of each list (b,) lies above its smallest; no list is empty."""
    with np.errstate(over="ignore"):
        widths: F64 = np.maximum.reduceat(scores, starts[:-1]) - np.minimum.reduceat(scores, starts[:-1])
    return widths


def _read(path: Path) -> pa.Table | None:
    """Return the lists of a day; None if there is no such file, or it is damaged: then the day begins anew."""
    if not path.exists():
        return None
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        _log.warning("lists that were asked are left out: %s cannot be read: %s", path.name, error)
        return None


def _write(path: Path, table: pa.Table) -> None:
    check_free(path, table.nbytes)
    with replaced(path) as new:
        new.touch(mode=0o600)
        pq.write_table(table, new)
