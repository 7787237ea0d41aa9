"""The calls of the table, each with right arguments until a row gives others: of Python, and as a command."""

import json
from functools import cache

import numpy as np
import pyarrow as pa
from support import jobs
from support.refusals.shape import BANK, NAMES, ROWS, TARGETS, content
from support.score_logs import as_lists, hubby_log

import hubless
from hubless.builder import lifecycle
from hubless.cli.options import parameters_of
from hubless.filters import parse_filter
from hubless.jobs.job_file import read_job
from hubless.scores.log_file import read_log
from hubless.vectors.free_payload import FREE_SCHEMA

TYPES = {
    "year": pa.int32(),
    "price": pa.float64(),
    "exact": pa.decimal128(6, 2),
    "title": pa.string(),
    "live": pa.bool_(),
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "UTC"),
    "clock": pa.time64("us"),
    "tags": pa.list_(pa.string()),
    "parts": pa.struct([("a", pa.int8())]),
    "rows": pa.list_(pa.struct([("a", pa.int8())])),
}
"""Columns of payload of the collection that queries ask."""
PAYLOAD = pa.table({name: pa.nulls(ROWS, kind) for name, kind in TYPES.items()})
JOB = """\
version: 1
collection: photos
targets: items/*.parquet
query_bank: [a.npy, b.npy]
gates:
  rows: {min: 10}
  recall:
    min: 0.9
"""
OF_INDEX = set(parameters_of(hubless.Index))


CALLS = {}


def call(function):
    """Note a function of a folder and of arguments, each of which it has a right one for."""
    CALLS[function.__name__] = function
    return function


@call
def fit(folder, **given):
    of_index = {name: given.pop(name) for name in OF_INDEX & given.keys()}
    index = hubless.Index(**{"metric": "cosine", "correction": "none", **of_index})
    return index.fit(**{"query_bank": BANK, "targets": TARGETS, **given})


@call
def build(folder, **given):
    right = {"targets": TARGETS, "query_bank": BANK, "correction": "sn", "index": "flat"}
    return hubless.build(folder / "catalog", given.pop("collection", "things"), **{**right, **given})


@cache
def asked():
    """The index that queries ask, and the like. None of the calls changes it."""
    return fit(None, ids=NAMES, payload=PAYLOAD)


@cache
def bare():
    """The same without payload and ids."""
    return fit(None)


CREATED = {"dim": 8, "metric": "cosine", "id_type": "string"}


@call
def create(folder, **given):
    """Begin an empty collection."""
    return lifecycle.create(folder / "catalog", "created", **{**CREATED, **given})


@call
def query(folder, **given):
    return asked().query(**{"vectors": BANK[:1], **given})


@call
def query_bare(folder, **given):
    return bare().query(**{"vectors": BANK[:1], **given})


@cache
def rescored():
    """One whose correction scores candidates again."""
    return fit(None, correction="sinkhorn")


@call
def query_rescored(folder, **given):
    return rescored().query(**{"vectors": BANK[:1], **given})


@call
def query_free(folder, **given):
    """The filter of a collection whose payload is any JSON."""
    return parse_filter(given.get("filter", {"and": []}), FREE_SCHEMA)


@call
def add(folder, **given):
    right = {"vectors": TARGETS[:2], "ids": ["new", "newer"]}
    return fit(None, targets=TARGETS[:50], ids=NAMES[:50], payload={"n": np.arange(50)}).add(**{**right, **given})


@call
def offsets(folder, **given):
    right = {"targets": TARGETS, "query_bank": BANK, "metric": "cosine", "correction": "csls"}
    return hubless.offsets(**{**right, **given})


@call
def augment_targets(folder, **given):
    return hubless.augment_targets(**{"targets": TARGETS, "offsets": np.zeros(ROWS), "metric": "dot", **given})


@call
def augment_queries(folder, metric="dot"):
    return hubless.augment_queries(BANK, metric=metric)


@call
def choose_strength(folder, live_queries=BANK):
    return hubless.choose_strength(live_queries, TARGETS, np.zeros(ROWS), metric="cosine")


@call
def diagnose(folder, **given):
    return hubless.diagnose(**{"targets": TARGETS[:60], "query_bank": BANK, "metric": "cosine", **given})


@call
def job(folder, before="", after=""):
    (folder / "job.yaml").write_text(JOB.replace(before, after, 1) if before else after or JOB)
    return read_job(folder / "job.yaml")


@call
def reindex(folder, more=None, **settings):
    """Run a job over two files of targets, and `more`."""
    jobs.write(folder, **{"targets": "items/*", **settings})
    return jobs.run(folder)


@call
def fuse(folder, **given):
    return hubless.fuse(**{"lists": [(["a", "b"], [2.0, 1.0])], **given})


@call
def correct_scores(folder, lists=(([1, 2], [0.5, 0.25]),)):
    return hubless.ScoreCorrection.fit(lists)


@cache
def log():
    ids, scores, _ = hubby_log()
    return correct_scores(None, as_lists(ids, scores))


@call
def rerank(folder, **given):
    return log().rerank(**{"ids": [0, 1], "scores": [2.0, 1.0], **given})


@call
def confidence(folder, **given):
    return log().confidence(**{"ids": [0, 1], "scores": [2.0, 1.0], **given})


@call
def calibrate(folder, **given):
    pairs = [([0], [1.0]), ([1], [2.0])] * 200
    return log().calibrate(**{"lists": pairs, "relevant": [0] * 400, **given})


@call
def read_logged(folder, path=None):
    return list(read_log(path or content("log.jsonl", '{"ids": ["a"], "scores": [1]}')(folder)).lists)


_OPTIONS = {
    "build": ("targets", "query_bank", "ids", "payload", "encoder", "metric", "correction", "index"),
    "query": ("vectors", "limit", "strength", "filter"),
}


def command(row, folder):
    """Return the words of the command that says what a row of `build` or `query` gives."""
    given = row.arguments(folder)
    parameters = given.pop("parameters", {})
    right = {"collection": "things", "targets": TARGETS, "query_bank": BANK, "correction": "sn", "index": "flat"}
    if row.call == "query":
        right = {"collection": "things", "vectors": BANK[:1]}
    words = [row.call]
    for name, value in {**right, **given, **parameters}.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            value = folder / f"{name}.npy"
        text = json.dumps(value) if isinstance(value, dict | list | bool | float | int | None) else str(value)
        option = name in ("collection", *_OPTIONS[row.call])
        words += [f"--{name.replace('_', '-')}", text] if option else ["--set", f"{name}={text}"]
    return words
