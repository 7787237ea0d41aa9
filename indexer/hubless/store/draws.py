"""Uniform samples that many processes add to: each different row has a draw, and the lowest draws are kept.

A draw looks random and depends on what was asked alone, so it does not matter who asked, which process saw it, and how
often.

Source: Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Container, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.errors import StorageError, storage_errors
from hubless.store.durable import locked, replaced

DAY = "%Y%m%d"
DAY_FILE = re.compile(r"\d{8}\.parquet")
SPARE = 64 * 2**20
"""Bytes that stay free on the disk of a sample."""
SALT = ".salt"
_SALT_BYTES = 32


class Salt:
    """Makes draws and labels of clients that nobody else can make. A folder has one file of it, for all processes."""

    def __init__(self, folder: Path, lock: str) -> None:
        with storage_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(folder / lock):
                path = folder / SALT
                if not path.exists():
                    with replaced(path) as new:
                        new.touch(mode=0o600)
                        new.write_bytes(os.urandom(_SALT_BYTES))
                self._key = path.read_bytes()

    def draw(self, asked: bytes) -> int:
        """Return the draw of what was asked, 64 bits."""
        return int.from_bytes(blake2b(asked, digest_size=8, key=self._key).digest(), "little")

    def label(self, client: str | bytes) -> str:
        """Return the name of a client, or a label of 12 characters for a key's digest or an address."""
        if isinstance(client, str):
            return client
        return blake2b(client, digest_size=6, key=self._key, person=b"client").hexdigest()


def lowest_draws(tables: Sequence[pa.Table], size: int, of_a_client: int, trusted: Container[str] = ()) -> pa.Table:
    """Return the rows with the lowest draws of some tables, each once, counted as often as it was asked.

    The tables have the columns `draw`, `count`, how often it was asked, and `client`, who asked it first. At most
    `size` rows, and so many of one client that is not trusted.
    """
    table = pa.concat_tables(tables)
    _, first, place = np.unique(table["draw"].to_numpy(), return_index=True, return_inverse=True)
    counts = np.bincount(place, table["count"].to_numpy(), len(first)).astype(np.int64)
    table = table.take(first).set_column(table.column_names.index("count"), "count", pa.array(counts))
    kept = list[int]()
    of_client = Counter[str]()
    for row, client in enumerate(table["client"].to_pylist()):
        of_client[client] += 1
        if of_client[client] <= of_a_client or client in trusted:
            kept.append(row)
    return table.take(pa.array(kept[:size], pa.int64()))


def check_free(path: Path, needed: int) -> None:
    """Raise `StorageError` if less than 64 MiB would stay free beside so many bytes."""
    if shutil.disk_usage(path.parent).free < needed + SPARE:
        raise StorageError(path, f"less than {SPARE // 2**20} MiB would stay free on the disk")


def forget_days(folder: Path, pattern: str, now: float, days: float) -> None:
    """Delete files of days that ended so many days ago, of the paths in a folder that a pattern says."""
    oldest = datetime.fromtimestamp(now, UTC) - timedelta(days=days + 1)
    with storage_errors(folder):
        for path in folder.glob(pattern):
            if DAY_FILE.fullmatch(path.name) and datetime.strptime(path.stem, DAY).replace(tzinfo=UTC) <= oldest:
                path.unlink(missing_ok=True)
