"""What a filter on free payload costs: the first on a key, which reads all payload, and those after it.

python -m benchmarks.free_payload [--targets 1000000]
"""

import argparse
import json
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness import markdown
from hubless.vectors.free_payload import FREE_SCHEMA, FreeBatch

WORDS = ["boat", "harbour", "winter", "garden", "letter", "orange", "engine", "river", "candle", "meadow"]


def payload(targets, keys):
    """Objects with so many keys: numbers and short texts in turns."""
    rng = np.random.default_rng(0)
    numbers, words = rng.integers(0, 1000, (targets, keys)).tolist(), rng.integers(0, len(WORDS), targets).tolist()
    for row, word in zip(numbers, words, strict=True):
        yield {f"key_{n}": value if n % 2 else f"{WORDS[word]} {value}" for n, value in enumerate(row)}


def processor_seconds(work):
    started = process_time()
    work()
    return process_time() - started


def measured(targets, keys):
    """Processor time of the first filters on two keys, and of another on one of them; a row of the table."""
    texts = [json.dumps(each) for each in payload(targets, keys)]
    batch = FreeBatch(pa.table([pa.array(texts, pa.large_string())], FREE_SCHEMA).to_batches()[0])
    first, other = (processor_seconds(lambda name=name: batch.column(name)) for name in ("key_0", "key_1"))
    again = processor_seconds(lambda: batch.column("key_1").which(pa.int64(), lambda values: pc.equal(values, 7)))
    size = sum(map(len, texts)) / len(texts)
    return str(keys), f"{size:.0f}", f"{first:.2f}", f"{other:.2f}", f"{1000 * again:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=1_000_000)
    given = parser.parse_args()
    rows = [("keys of a target", "bytes of a target", "first filter, processor s", "another key", "the same key, ms")]
    rows += [measured(given.targets, keys) for keys in (2, 5, 20)]
    print(f"{given.targets:,} targets\n\n{markdown(rows)}")


if __name__ == "__main__":
    main()
