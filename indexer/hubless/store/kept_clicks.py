"""Clicks: the targets that people chose for their queries, in the files of days that `hubless.store.draws` explains.

    <sample>/<collection>/clicks/20261122.parquet       `query`, as it was compared; `target`; `position`; `key`
    <sample>/<collection>/clicks.new/20261122.parquet   the last few: with each that comes these are written again

A click of a client that its key names counts once for a query and a target, however often the client repeats it. A key
that names no client is believed: each of its clicks counts.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hubless.errors import InputError, storage_errors
from hubless.store.clients import counting_rows
from hubless.store.draws import (
    CLICKS,
    KEY_COLUMN,
    LOCK,
    AskedRows,
    Salt,
    add_asked,
    day_of,
    days_of,
    lowest_draws,
    read_days,
    with_draws,
)
from hubless.store.durable import locked
from hubless.store.query_sample import OF_A_CLIENT, SIZE, rounded, vector_column
from hubless.vectors.arrays import F32

_BELIEVED = (None,)
"""The client of clicks whose key names none."""
_RANDOM_BYTES = 16
_MOST_NEW = 256

_log = logging.getLogger("hubless.sample")


class Click(NamedTuple):
    """A query (d,) as it was compared, the id of the target that was chosen, its rank from 1, and who chose it.

    Rank and client are None where nobody said them.
    """

    query: F32
    target: str | int
    position: int | None
    client: str | None


class ClickWriter:
    """Adds clicks to the files of a sample. Processes that share a folder may each have one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._salt = Salt(folder)

    def add(
        self, collection: str, metric: str, id_type: str, clicks: Sequence[Click], key: str | bytes, now: float
    ) -> None:
        """Keep clicks that a key told of at `now`, in seconds since 1970. They are on the disk when this returns.

        A key is its name or its digest; without keys an address. A day keeps 4,000 clicks, a uniform sample, and of a
        client that a key names 1,000. Raises `StorageError`.
        """
        asked, targets, positions, clients = zip(*clicks, strict=True)
        queries = np.stack(asked)
        columns = {
            "query": vector_column(queries),
            "target": pa.array(targets, id_type),
            "position": pa.array(positions, pa.int32()),
            KEY_COLUMN: pa.array([self._salt.label(key)] * len(clicks)),
        }
        draws = [
            os.urandom(_RANDOM_BYTES) if client is None else query + repr((target, client)).encode()
            for query, target, client in zip(rounded(queries), targets, clients, strict=True)
        ]
        rows = with_draws(pa.table(columns), draws, [client and client.encode() for client in clients], self._salt)
        about = {"clicks": collection, "metric": metric, "dim": queries.shape[1]}
        new, settled = (self._folder / collection / each for each in CLICKS)
        _add(new, AskedRows(about, day_of(now), len(clicks), rows))
        with storage_errors(new), locked(new / LOCK):
            read = read_days(new)
            if sum(len(each.rows) for each in read) < _MOST_NEW:
                return
            for each in read:
                _add(settled, each)
            for path in days_of(new):  # draws tell those that are in both, should it end before
                path.unlink()


def _add(home: Path, fresh: AskedRows) -> None:
    add_asked(home, fresh, SIZE, OF_A_CLIENT, _BELIEVED)


def click_files(folder: str | Path) -> list[Path]:
    """Return the files of clicks in a folder of the query sample; none in another."""
    return [file for each in CLICKS for file in days_of(Path(folder) / each)]


def read_clicks(folder: str | Path) -> pa.Table:
    """Return the clicks that count of a collection in a query sample, in random order.

    Columns: `query`, fixed_size_list<float32>; `target`, string or int64; `position`, int32, null where it is not
    known; `client`, a label, null where the key named none and is believed; `day`, date32. A client counts for a tenth
    at most, and ten are needed if no key is believed. Files unlike the newest are left out, and the log says so. Raises
    `InputError` if there are none, or of too few clients.
    """
    days = [day for each in CLICKS for day in read_days(Path(folder) / each, level=logging.WARNING)]
    if not days:
        raise InputError("clicks", "a folder of the query sample that has clicks", f"none in {folder}")
    newest = max(days, key=lambda each: each.day)
    tables = list[pa.Table]()
    for each in days:
        if each.is_like(newest):
            tables.append(each.rows.append_column("day", pa.array([each.begins.date()] * len(each.rows))))
        else:
            _log.warning("clicks of %s are left out: they are unlike those of %s", each.day, newest.day)
    kept = lowest_draws(tables)
    counted, rows = counting_rows(kept["client"].to_pylist(), 0, _BELIEVED)
    if not counted.are_enough:
        expected = f"those of {counted.clients_needed} clients, or of a key that names none"
        raise InputError("clicks", expected, f"of {counted.clients}")
    return kept.take(rows).select(["query", "target", "position", "client", "day"])
