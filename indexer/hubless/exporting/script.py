"""The script of an export: constants of the collection, what all scripts share, and what is of the database."""

import re
from collections.abc import Iterable, Mapping
from pprint import pformat
from typing import Any

from hubless.exporting.engines.base import Engine

_ADDRESS = re.compile(r'environ\.get\("(\w+_UR[LI])"')
DATA, SCRIPT = "targets.parquet", "recipe.py"

_HEAD = '''"""Load {name} into {title} and ask it, with the hubness taken out of the ranking.

    pip install {packages}
    python {script} load                 # --replace deletes what has the name first
    python {script} check queries.npy    # compares what it finds with all targets
    python {script} query queries.npy    # prints ids and scores

{data} has a vector [t, -h] for each target t: h is its offset, positive for a hub. Ask with [q, s] by
inner product: the score is q·t - s·h. The strength s is 1 for the full correction, 0 for the raw ranking. In
your own program, import `connect` and `query` from here, or do as `augmented` does.
"""

'''

_IMPORTS = """
import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
"""

_SHARED = '''
HERE = Path(__file__).resolve().parent
DATA = HERE / "targets.parquet"
LEAST = 0.99
"""Share of the ten best targets that `check` wants."""


def augmented(vector, strength=STRENGTH):
    """What to ask with: [q, strength], the vector q of length 1 if the metric is cosine."""
    query = np.asarray(vector, np.float32)
    if query.shape != (WIDTH - 1,) or not np.isfinite(query).all():
        raise ValueError(f"vector: expected {WIDTH - 1} finite numbers, got an array of shape {query.shape}")
    if METRIC == "cosine":
        if not query.any():
            raise ValueError("vector: expected a direction, got zeros")
        query = query / np.linalg.norm(query)
    return np.append(query, np.float32(strength))


def blocks(size, parsed=True):
    """Blocks of targets: ids, vectors (r, WIDTH), and dicts of payload, with JSON as text or parsed."""
    with pq.ParquetFile(DATA) as file:
        for batch in counted(file.iter_batches(size)):
            vectors = batch.column("vector").flatten().to_numpy().reshape(-1, WIDTH)
            payloads = batch.drop_columns(["id", "vector"]).to_pylist()
            if parsed and JSON_COLUMNS:
                for row in payloads:
                    row.update({name: json.loads(row[name]) for name in JSON_COLUMNS if row[name] is not None})
            yield batch.column("id").to_pylist(), vectors, payloads


def counted(batches):
    """The same batches, and on a terminal how many rows are through."""
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if sys.stderr.isatty():
            print(f"\\r{done:,} of {COUNT:,}", end="" if done < COUNT else "\\n", file=sys.stderr, flush=True)


def check(client, queries, limit=10):
    """The share of the best targets that the database finds, among those of a comparison with all."""
    asked = np.stack([augmented(vector) for vector in queries])
    best = np.empty((len(asked), 0), np.float32)
    for _, vectors, _ in blocks(10_000, parsed=False):
        best = -np.sort(-np.column_stack([best, asked @ vectors.T]))[:, :limit]
    found = 0
    for vector, scores in zip(queries, best):
        last = scores[-1] - 1e-4 * max(1, abs(scores[-1]))  # databases round
        found += sum(score >= last for _, score in query(client, vector, limit, STRENGTH))
    return found / best.size


def refuse_unless(replace):
    if not replace:
        raise SystemExit(f"{NAME} is there already: give --replace to delete it, or change NAME in this file")

'''

_MAIN = """

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load", help="load all targets")
    loading.add_argument("--replace", action="store_true", help="delete what has the name first")
    checking = commands.add_parser("check", help="compare what it finds with all targets")
    checking.add_argument("file", help=".npy, one row a query; the first 200 are asked")
    asking = commands.add_parser("query", help="ask with vectors")
    asking.add_argument("file", help=".npy, one row a query")
    asking.add_argument("--limit", type=int, default=10)
    asking.add_argument("--strength", type=float, default=STRENGTH)
    given = parser.parse_args()
    try:
        run(given)
    except Exception as error:
        if not of_connection(error):
            raise
        said = " ".join(str(error).split())[:200]
        raise SystemExit(f"{TITLE} cannot be reached: start it, or set {ADDRESS} to where it is ({said})") from None


def of_connection(error):
    # clients have an error of their own for it, or wrap one that says so
    while error is not None:
        if isinstance(error, ConnectionError) or "connect" in f"{type(error).__name__} {error}".lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def run(given):
    client = connect()
    if given.command == "load":
        load(client, given.replace)
        return
    if given.command == "check":
        share = check(client, np.atleast_2d(np.load(given.file))[:200])
        said = f"{share:.1%} of the ten best targets are found"
        if share < LEAST:
            raise SystemExit(f"{said}, expected {LEAST:.0%}: let the database compare more targets a query, see above")
        print(said)
        return
    for vector in np.atleast_2d(np.load(given.file)):
        found = query(client, vector, given.limit, given.strength)
        print(json.dumps([{"id": wanted, "score": float(score)} for wanted, score in found]))


if __name__ == "__main__":
    main()
"""


def script_of(engine: Engine, constants: Mapping[str, Any], notes: Iterable[str]) -> str:
    """Return the script of an export.

    Parameters
    ----------
    constants : that scripts use: see `hubless.exporting.export`
    notes : lines for its head, such as where the targets are from
    """
    tested = f"Tested with {engine.tested}." if engine.tested else "NOT TESTED: it has not run on a real server yet."
    head = _HEAD.format(
        name=constants["NAME"],
        title=engine.title,
        packages=" ".join(("numpy", "pyarrow", *(f"'{package}'" for package in engine.packages))),
        script=SCRIPT,
        data=DATA,
    )
    comments = "".join(f"# {note}\n" for note in (tested, *notes))
    (address, *_) = _ADDRESS.findall(engine.script)
    constants = {**constants, "TITLE": engine.title, "ADDRESS": address}
    values = "".join(f"{name} = {pformat(value, width=100, sort_dicts=False)}\n" for name, value in constants.items())
    imports, own = _parted(engine.script.strip("\n"))
    parts = (head + comments + _IMPORTS.rstrip("\n"), imports, values, _SHARED.strip("\n"), own, _MAIN.strip("\n"))
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _parted(script: str) -> tuple[str, str]:
    """The imports at the head of a script, and the rest."""
    lines = script.splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if line.startswith(("import ", "from ")))
    return "".join(lines[: last + 1]), "".join(lines[last + 1 :])
