"""What a row of the table says, and the inputs that rows are made of.

    Refused("build", {"strength": 3}, "strength: expected …at most 2, got 3")

is a call of `support.refusals.calls` that would be taken, but for one argument, and what is said of it: the words from
their beginning, which is the name of the parameter, with … for any others. `error` is the class and so the code. The
same rule at the command line and over HTTP is the same row: `doors` says where it is asked for.
"""

import csv
import json
import re
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from support.files import write_npy, write_npz

from hubless.errors import InputError

PYTHON, COMMAND, HTTP = "python", "command", "http"
ROWS, DIM, BAD = 1000, 8, 699
"""The bad value stands far into 1,000 targets: it has to be named by its place, whatever reads a block at a time."""
TARGETS = np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)
BANK = np.random.default_rng(1).normal(size=(40, DIM)).astype(np.float32)
LISTS = TARGETS.tolist()
NUMBERS = list(range(ROWS))
NAMES = [f"id-{row}" for row in NUMBERS]


@dataclass(frozen=True)
class Refused:
    call: str
    given: dict[str, Any]  # arguments instead of right ones. A function makes one, such as a file, in a folder
    words: str
    error: type[Exception] = InputError
    doors: tuple[str, ...] = (PYTHON,)

    def __str__(self):
        return f"{self.call} {' '.join(self.given)}: {self.words[:60]}"

    @property
    def parameter(self):
        return self.words.partition(": ")[0]

    def is_said_by(self, text):
        return re.match(".*".join(map(re.escape, self.words.split("…"))), text) is not None

    def arguments(self, folder):
        return {name: value(folder) if callable(value) else value for name, value in self.given.items()}


def rows_of(call, *rows, doors=(PYTHON,), **of_argument):
    """Rows of one call: (arguments, words) or (arguments, words, error); or (value, words) below the argument."""
    every = [*rows, *(({name: value}, *told) for name, values in of_argument.items() for value, *told in values)]
    return [Refused(call, given, words, *error, doors=doors) for given, words, *error in every]


def among(values, value):
    """Values with another one in the bad row."""
    return [*values[:BAD], value, *values[BAD + 1 :]]


def wrong(value, rows=TARGETS):
    """Vectors of which one number of the bad row is another; all numbers of it for 0."""
    rows = rows.copy()
    rows[BAD, 2 if value else slice(None)] = value
    return rows


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


# files: functions of the folder where they are to be


def content(name, written):
    """A file of bytes, a text, or lines."""

    def write(folder):
        text = written if isinstance(written, str | bytes) else "".join(f"{line}\n" for line in written)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return folder / name

    return write


def npy(name, rows):
    return lambda folder: write_npy(folder / name, rows)


def npz(name, rows, **more):
    return lambda folder: write_npz(folder / name, rows, **more)


def parquet(name, table=None, **columns):
    """A table in groups of 64 rows, so that the bad row is in a later one."""
    made = pa.table(columns) if table is None else table
    return lambda folder: pq.write_table(made, folder / name, row_group_size=64) or folder / name


def feather(name, **columns):
    return lambda folder: pa.feather.write_feather(pa.table(columns), str(folder / name), chunksize=64) or folder / name


def table(name, **columns):
    """A file of CSV."""

    def write(folder):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return folder / name

    return write


def lines_of_json(name, values):
    return content(name, list(map(json.dumps, values)))


def fvecs(name, rows, dims=DIM):
    lengths = np.broadcast_to(np.array(dims, "<i4"), len(rows))[:, None].copy()
    return content(name, np.hstack([lengths.view("<f4"), rows]).tobytes())


def indexed(name, rows, factory="Flat"):
    def write(folder):
        index = faiss.index_factory(DIM, factory)
        index.train(TARGETS)
        index.add(rows)
        faiss.write_index(index, str(folder / name))
        return folder / name

    return write


def folder_of(name, *files):
    """A folder with files."""

    def write(folder):
        (folder / name).mkdir()
        for file in files:
            file(folder / name)
        return folder / name

    return write
