"""Common parts of the scripts of all databases: the settings of the export, its targets, and the commands.

    python recipe.py load                 # --replace deletes what has the name first
    python recipe.py check queries.npy    # compares what it finds with all targets
    python recipe.py query queries.npy    # prints ids and scores

targets.parquet has a vector [t, -h] for each target t: h is its offset, positive for a hub. Ask with [q, s] by inner
product: the score is q·t - s·h. In your own program, import `connect` and `query`, or do as `augmented` does.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
DATA = HERE / "targets.parquet"
SETTINGS = json.loads((HERE / "settings.json").read_text("utf-8"))
NAME, METRIC, WHOLE_IDS = SETTINGS["name"], SETTINGS["metric"], SETTINGS["whole_ids"]
COUNT, WIDTH, DIM = SETTINGS["count"], SETTINGS["width"], SETTINGS["dim"]
"""Targets, numbers of a vector with its offset, and dimensions of a query."""
BASIS = None if DIM == WIDTH - 1 else np.load(HERE / "basis.npy")
"""Directions that queries are reduced to, if the targets have fewer dimensions."""
STRENGTH = SETTINGS["strength"]
"""1 for the full correction, 0 for the raw ranking."""
COLUMNS = SETTINGS["columns"]
"""The database's types of payload columns."""
LEAST = 0.99
"""Share of the ten best targets that `check` wants."""


def augmented(vector, strength=STRENGTH):
    """Return what to ask with: [q, strength], the vector q of length 1 if the metric is cosine."""
    query = np.asarray(vector, np.float32)
    if query.shape != (DIM,) or not np.isfinite(query).all():
        raise ValueError(f"vector: expected {DIM} finite numbers, got an array of shape {query.shape}")
    if BASIS is not None:
        query = query @ BASIS
    if METRIC == "cosine":
        if not query.any():
            raise ValueError("vector: expected a direction, got zeros")
        query = query / np.linalg.norm(query)
    return np.append(query, np.float32(strength))


def blocks(size, parsed=True):
    """Yield blocks of targets: ids, vectors (r, WIDTH), and dicts of payload, with JSON as text or parsed."""
    with pq.ParquetFile(DATA) as file:
        for batch in counted(file.iter_batches(size)):
            vectors = batch.column("vector").flatten().to_numpy().reshape(-1, WIDTH)
            payloads = batch.drop_columns(["id", "vector"]).to_pylist()
            if parsed:
                for row in payloads:
                    row.update({each: json.loads(row[each]) for each in SETTINGS["json_columns"] if row[each]})
            yield batch.column("id").to_pylist(), vectors, payloads


def counted(batches):
    """Yield the same batches. On a terminal print how many rows are through."""
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if sys.stderr.isatty():
            print(f"\r{done:,} of {COUNT:,}", end="" if done < COUNT else "\n", file=sys.stderr, flush=True)


def refuse_unless(replace):
    """End with what to do if the name is taken."""
    if not replace:
        raise SystemExit(f"{NAME} is there already: give --replace to delete it, or change its name in settings.json")


def check(client, query, queries, limit=10):
    """Return the share of the best targets that the database finds, among those of a comparison with all."""
    asked = np.stack([augmented(vector) for vector in queries])
    best = np.empty((len(asked), 0), np.float32)
    for _, vectors, _ in blocks(10_000, parsed=False):
        best = -np.sort(-np.column_stack([best, asked @ vectors.T]))[:, :limit]
    found = 0
    for vector, scores in zip(queries, best, strict=True):
        last = scores[-1] - 1e-4 * max(1, abs(scores[-1]))  # databases round
        found += sum(score >= last for _, score in query(client, vector, limit))
    return found / best.size


def main(title, address, connect, load, query):
    """Run a command of a script: `load`, `check` or `query`."""
    parser = argparse.ArgumentParser(description=f"Load {NAME} into {title} and ask it.")
    commands = parser.add_subparsers(dest="command", required=True)
    loading = commands.add_parser("load", help="load all targets")
    loading.add_argument("--replace", action="store_true", help="delete what has the name first")
    checking = commands.add_parser("check", help="compare what it finds with all targets")
    checking.add_argument("file", help=".npy, one row a query; the first 200 are asked")
    asking = commands.add_parser("query", help="ask with vectors")
    asking.add_argument("file", help=".npy, one row a query")
    asking.add_argument("--limit", type=int, default=10)
    asking.add_argument("--strength", type=float, default=STRENGTH)
    asking.add_argument("--filter", dest="where", help="a condition as the database writes it, see `query`")
    given = parser.parse_args()
    try:
        client = connect()
        if given.command == "load":
            load(client, given.replace)
            return
        queries = np.atleast_2d(np.load(given.file))
        if given.command == "check":
            share = check(client, query, queries[:200])
            said = f"{share:.1%} of the ten best targets are found"
            if share < LEAST:
                advice = "let the database compare more targets a query, see the script"
                raise SystemExit(f"{said}, expected {LEAST:.0%}: {advice}")
            print(said)
            return
        for vector in queries:
            found = query(client, vector, given.limit, given.strength, given.where)
            print(json.dumps([{"id": wanted, "score": float(score)} for wanted, score in found]))
    except Exception as error:
        if not of_connection(error):
            raise
        said = " ".join(str(error).split())[:200]
        raise SystemExit(f"{title} cannot be reached: start it, or set {address} to where it is ({said})") from None


def of_connection(error):
    """Return whether a client could not connect. Clients have an error of their own for it, or wrap one."""
    while error is not None:
        if isinstance(error, ConnectionError) or "connect" in f"{type(error).__name__} {error}".lower():
            return True
        error = error.__cause__ or error.__context__
    return False
