"""One collection in Faiss and in Milvus: `HUBLESS_MILVUS_URI=… python -m benchmarks.milvus_engine`.

Seconds to build, and milliseconds of a query, for graphs of one size and for exact search, with and without a filter.
The sides take turns. `--targets 1000000 --dim 512 --kinds hnsw` is the size to compare with; the standalone server of
`make milvus` will do. What it says of milvus-lite, the double of most tests, it does not say of a cluster.
"""

import argparse
import tempfile
from time import perf_counter

import numpy as np
import pyarrow as pa

import hubless
from benchmarks import harness
from hubless_milvus.client import client_of
from hubless_milvus.server import Server

BANK, QUERIES, K = 1000, 64, 10
FILTER = {"field": "part", "lt": 10}
"""A tenth of the targets."""


def build(catalog, name, data, **options):
    """Build a collection. Return it open, and the seconds that the build took."""
    targets, bank, _ = data
    payload = pa.table({"part": np.arange(len(targets)) % 100})
    start = perf_counter()
    hubless.build(catalog, name, targets, bank, payload=payload, progress=False, **options)
    return hubless.open(catalog, name), perf_counter() - start


def measured(catalog, kind, data, repeats):
    """Yield a line of the table for each way to ask."""
    queries = data[2]
    faiss, faiss_seconds = build(catalog, f"faiss-{kind}", data, index=kind)
    milvus, milvus_seconds = build(catalog, f"milvus-{kind}", data, index=kind, engine="milvus")
    known = {"kind": kind, "recall": milvus.manifest.measured.recall_at_10}
    yield {**known, "what": "build, s", "faiss": faiss_seconds, "milvus": milvus_seconds}
    ways = {
        "one query, ms": lambda side, **more: [side.query(query, limit=K, **more) for query in queries[:10]],
        f"{QUERIES} together, ms a query": lambda side, **more: side.query(queries, limit=K, **more),
    }
    for name, ask in ways.items():
        for more in ({}, {"filter": FILTER}):
            sides = {
                "faiss": lambda ask=ask, more=more: ask(faiss, **more),
                "milvus": lambda ask=ask, more=more: ask(milvus, **more),
            }
            seconds = harness.medians(harness.interleaved(sides, repeats))
            asked = 10 if name.startswith("one") else QUERIES
            times = {side: 1000 * value / asked for side, value in seconds.items()}
            yield {**known, "what": f"{name}{', filter' if more else ''}", **times}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--kinds", nargs="*", default=["flat", "hnsw"])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(arguments)
    print(client_of(Server.of_environment()).call("get_server_version"))
    data = harness.with_hubs(given.targets, BANK, QUERIES, given.dim)
    lines = [("index", "what", "Faiss", "Milvus", "×")]
    with tempfile.TemporaryDirectory() as catalog:
        for kind in given.kinds:
            for line in measured(catalog, kind, data, given.repeats):
                ratio = line["milvus"] / line["faiss"]
                index = f"{kind}, recall {line['recall']:.3f}"
                lines.append((index, line["what"], f"{line['faiss']:.3g}", f"{line['milvus']:.3g}", f"{ratio:.1f}"))
    print(harness.markdown(lines))


if __name__ == "__main__":
    main()
