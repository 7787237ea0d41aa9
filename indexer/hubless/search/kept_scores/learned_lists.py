"""The lists that a correction of scores learns from: those that were put, and a sample of those that it is asked.

    <home>/put.parquet        the lists that were put, which are believed: `ids`, `scores`
    <home>/labelled.json      those with labels
    <home>/20261127.parquet   lists that were asked on that day: `ids`, `scores`, and what `hubless.store.draws` says
    <home>/fit.json           how many of these there were at the last fit, and which items it held back

A day keeps the 1,000 lists with the lowest draws, for 20 days; lists of a client with the same items in the same order
are one. What strangers teach is guarded as live queries are (docs/security.md): a client counts for a tenth at most,
ten are needed, some of them check what the others taught, and what few say alone lifts no item.
"""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.corrections.alone import find_alone
from hubless.corrections.supported import client_numbers, heard_of
from hubless.errors import InputError
from hubless.measures.evenness import POOR, STRENGTHS, ChosenStrength, is_less_even, most_even
from hubless.scores.logged_lists import ScoreLists
from hubless.scores.reading import read_lists
from hubless.scores.score_correction import ScoreCorrection
from hubless.store.clients import CountedQueries, counting_rows, held_out
from hubless.store.draws import (
    DRAW_COLUMNS,
    AskedRows,
    Salt,
    add_asked,
    day_of,
    days_of,
    forget_days,
    lowest_draws,
    read_days,
    with_draws,
    write_private,
)
from hubless.store.durable import make_folder, replace_text
from hubless.vectors.arrays import I64

DAYS, LISTS_OF_A_DAY, OF_ONE_CLIENT = 20, 1000, 250
"""Lists are kept so long, so many of a day, and so many of one client in a day."""
NEW_LISTS, NEW_SHARE = 100, 0.1
"""It is fitted anew when so many lists came since, and this share of those before; or after a day, if any came."""
FEWEST_THAT_TEACH = 60
"""So many lists have to count: a third of them checks the fit, and 20 are the least that can."""
WIDEST = 2.0
"""Lists count up to so many times the width, from the first score to the last, of the widest that was put. One of
another unit would set the temperature alone."""
MOST_HITS, LONGEST = 100, 10_000
"""Hits of a list that are kept, and bytes of their ids at most."""
_HIT_BYTES = 100
"""What an id and a score take in memory beside the characters."""
_FOUND = 10
_DAY_SECONDS = 86_400
_PUT, _LABELLED, _FIT = "put.parquet", "labelled.json", "fit.json"
_KEY = b"hubless.learned"
_LISTS = ["ids", "scores"]


class AskedList(NamedTuple):
    """First hits of a list, best first, their ids as JSON, and who sent it: a name, a key's digest or an address."""

    ids: list[Any]
    scores: list[float]
    said: bytes
    client: str | bytes

    @classmethod
    def of(cls, ids: Sequence[Any], scores: Sequence[float], client: str | bytes, *, distance: bool) -> Self | None:
        """Return what is kept of a list in any order: 100 hits. None if these say nothing, or take more than 10 kB."""
        order = sorted(range(len(ids)), key=scores.__getitem__, reverse=not distance)[:MOST_HITS]
        first, best = ([values[place] for place in order] for values in (ids, scores))
        said = orjson.dumps(first)
        return None if len(first) < 2 or len(said) > LONGEST else cls(first, best, said, client)

    @property
    def weight(self) -> int:
        """Bytes in memory."""
        return len(self.said) * 2 + len(self.ids) * _HIT_BYTES


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
    """The lists of one correction. Whoever changes what was put holds the lock of the catalog's corrections."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.put = home / _PUT

    def begin(self, put: PutLists) -> None:
        """Keep what was put, and forget what was asked before."""
        make_folder(self.home)
        self.home.chmod(0o700)
        for path in days_of(self.home):
            path.unlink()
        replace_text(self.home / _LABELLED, orjson.dumps(put.labelled).decode())
        self.note_fit(0, [])
        write_private(self.put, put.table())

    def add(self, asked: Iterable[AskedList], salt: Salt, now: float) -> None:
        """Add lists that were asked to those of the day; without those of ids of another type than were put."""
        put = pq.read_schema(self.put)
        kind = int if pa.types.is_integer(put.field("ids").type.value_type) else str
        of_kind = [each for each in asked if type(each.ids[0]) is kind]
        if of_kind:
            values = [each.ids for each in of_kind], [each.scores for each in of_kind]
            lists = [pa.array(some, put.field(name).type) for name, some in zip(_LISTS, values, strict=True)]
            said = [each.said + str(each.client).encode() for each in of_kind]
            rows = with_draws(pa.table(lists, _LISTS), said, [each.client for each in of_kind], salt)
            fresh = AskedRows({"lists": self.home.stem}, day_of(now), len(of_kind), rows)
            add_asked(self.home, fresh, LISTS_OF_A_DAY, OF_ONE_CLIENT, _said(put)["trusted"])
        forget_days(self.home, "*.parquet", now, DAYS)

    def kept(self) -> int:
        """Return how many lists are kept of those that were asked."""
        return sum(len(day.rows) for day in read_days(self.home, ["draw"]))

    def counted(self) -> CountedQueries:
        """Return how many lists count of those that were asked, and of how many clients."""
        put = pq.ParquetFile(self.put)
        asked = self._asked(["draw", "count", "client"])["client"].to_pylist()
        return counting_rows(asked, put.metadata.num_rows, _said(put.schema_arrow)["trusted"])[0]

    def is_due(self, now: float) -> bool:
        """Return whether enough lists of enough clients came since the last fit."""
        last = self._fit()
        before, then = last["kept"], last["then"]
        is_old = now - then >= _DAY_SECONDS and any(path.stat().st_mtime > then for path in days_of(self.home))
        if not is_old and self.kept() - before < max(NEW_LISTS, NEW_SHARE * before):
            return False
        counted = self.counted()
        return counted.are_enough and counted.queries >= FEWEST_THAT_TEACH

    def fitted(self, served: ScoreCorrection) -> tuple[ScoreCorrection, list[Any]]:
        """Return the correction fitted on what was put and what counts of what was asked, and ids that it holds back.

        Clients whose lists are not in it check it. Raises `InputError` if they are answered less evenly than with what
        is `served`, or if there are too few.
        """
        put = pq.read_table(self.put)
        told = _said(put.schema)
        put, distance, trusted = put.replace_schema_metadata(None), told["distance"], told["trusted"]
        live = self._asked()
        counted, rows = counting_rows(live["client"].to_pylist(), put.num_rows, trusted)
        if not counted.are_enough:
            raise InputError("lists", f"some of {counted.clients_needed} clients", counted.clients)
        live = live.take(rows)
        clients = live["client"].to_pylist()
        teaching, checking = held_out(len(clients), counted.queries, clients)
        lists = read_lists(pa.concat_tables([put, live.take(teaching).select(_LISTS)]), distance=distance)
        whose = [None if clients[row] in trusted else clients[row] for row in teaching.tolist()]
        numbers = client_numbers([None] * put.num_rows + whose)
        with np.errstate(over="ignore"):
            widths = lists.scores[lists.starts[:-1]] - lists.scores[lists.starts[1:] - 1]
        usual = np.flatnonzero(widths <= WIDEST * widths[: put.num_rows].max())
        lists = lists.taken(usual)
        heard = lists.of_items(heard_of(lists.heights(), numbers[usual]))
        made, held_back = _held_back(heard, numbers[heard.given], served, distance=distance)
        _check(read_lists(live.take(checking).select(_LISTS), distance=distance), made, served)
        if labelled := orjson.loads((self.home / _LABELLED).read_bytes()):
            made = made.calibrate(labelled, [each["relevant"] for each in labelled])
        return replace(made, details=made.details | {"learned": len(whose)}), held_back

    def note_fit(self, kept: int, held_back: list[Any]) -> None:
        """Note that it was fitted when so many lists were kept, and which items were held back."""
        replace_text(self.home / _FIT, orjson.dumps({"kept": kept, "held_back": held_back}).decode())

    def held_back(self) -> list[Any]:
        """Return the ids of items whose offset the last fit held back."""
        found: list[Any] = self._fit()["held_back"]
        return found

    def _fit(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kept": 0, "held_back": [], "then": 0.0}
        with suppress(FileNotFoundError):  # written by an older version, or it does not learn
            found |= orjson.loads((self.home / _FIT).read_bytes())
            found["then"] = (self.home / _FIT).stat().st_mtime
        return found

    def _asked(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return what was asked, or some columns of it."""
        days = [each.rows for each in read_days(self.home, columns, logging.WARNING)]
        return lowest_draws(days) if days else pa.table({name: [] for name in [*_LISTS, *DRAW_COLUMNS]})


def _said(put: pa.Schema) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(put.metadata[_KEY])
    return told


def _held_back(
    lists: ScoreLists, clients: I64, served: ScoreCorrection, *, distance: bool
) -> tuple[ScoreCorrection, list[Any]]:
    """Fit lists (b,) of `clients` (b,), and say which items they would lift else.

    These are items whose offset would be far higher if all were believed, and those whose offset stands alone, which is
    then the usual one, or that which is served.
    """
    made = ScoreCorrection.of(lists, distance=distance, clients=clients)
    offsets = made.values
    more = (ScoreCorrection.of(lists, distance=distance).values - offsets).astype(np.float32)
    before = np.array([served.offsets.get(each, served.smallest) for each in lists.ids.to_pylist()])
    held = np.zeros(len(offsets), np.bool_)
    if (few := find_alone(more)) is not None:
        held[few.rows(more)] = True
    if (alone := find_alone(offsets.astype(np.float32))) is not None:
        lower = np.minimum(offsets, np.maximum(alone.held_back(offsets), before))
        held |= lower < offsets
        offsets = lower
    return replace(made, values=offsets), lists.ids.filter(pa.array(held)).to_pylist()


def _check(lists: ScoreLists, made: ScoreCorrection, served: ScoreCorrection) -> None:
    """Raise `InputError` if something speaks against a correction in lists that it was not fitted on."""
    ours, theirs = (_evenness(lists, each) for each in (made, served))
    if ours.state == "too_few" or ours.strength <= POOR or is_less_even(ours, theirs):
        expected = "lists of other clients that the new correction spreads evenly"
        found = f"{ours.different} different ones, entropy {max(ours.entropy):.3f}, with the one that is served "
        raise InputError("lists", expected, f"{found}{max(theirs.entropy):.3f}")


def _evenness(lists: ScoreLists, correction: ScoreCorrection) -> ChosenStrength:
    """Return how evenly the first items of lists are spread at each strength of a correction."""
    offsets = np.array([correction.offsets.get(each, correction.smallest) for each in lists.ids.to_pylist()])
    answers = np.full((len(STRENGTHS), lists.count, _FOUND), -1)
    for row in range(lists.count):
        for place, strength in enumerate(STRENGTHS):
            best = lists.ordered(row, strength * offsets)[:_FOUND]
            answers[place, row, : len(best)] = best
    return most_even(answers, len(lists.ids))
