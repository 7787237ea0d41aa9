"""Load an export into LanceDB and ask it, with the hubness taken out of the ranking.

    pip install numpy pyarrow 'lancedb>=0.25'
    python recipe.py load     # then `check queries.npy` and `query queries.npy`, see recipe_base.py

Tested with LanceDB 0.40, in one process.
"""

import os

import lancedb
import pyarrow as pa
import pyarrow.parquet as pq
from recipe_base import COUNT, DATA, HERE, NAME, STRENGTH, augmented, counted, main, refuse_unless

URI = os.environ.get("LANCEDB_URI", str(HERE / "lancedb"))
"""A folder, or an address of object storage or of LanceDB Cloud."""
INDEX_FROM = int(os.environ.get("LANCEDB_INDEX_FROM", 100_000))
"""Rows from which an index is made. With fewer, LanceDB compares with all of them."""


def connect():
    """Return a client of LanceDB."""
    return lancedb.connect(URI, api_key=os.environ.get("LANCEDB_API_KEY"))


def load(client, replace):
    """Load all targets, as they stand in targets.parquet."""
    if NAME in client.list_tables(limit=1_000_000).tables:
        refuse_unless(replace)
    with pq.ParquetFile(DATA) as file:
        reader = pa.RecordBatchReader.from_batches(file.schema_arrow, counted(file.iter_batches(10_000)))
        table = client.create_table(NAME, reader, mode="overwrite" if replace else "create")
    if COUNT >= INDEX_FROM:
        # dot, not cosine: that would divide by the length, and the offset with it. FLAT, not PQ, which rounds it
        table.create_index(metric="dot", index_type="IVF_FLAT", vector_column_name="vector")


def query(client, vector, limit=10, strength=STRENGTH, where=None):
    """Return ids and corrected scores of the best targets, best first.

    `where` is SQL, as `year >= 2000`.
    """
    asked = client.open_table(NAME).search(augmented(vector, strength), vector_column_name="vector")
    if where is not None:
        asked = asked.where(where, prefilter=True)
    found = asked.distance_type("dot").nprobes(50).select(["id", "_distance"]).limit(limit).to_list()
    return [(row["id"], 1 - row["_distance"]) for row in found]


if __name__ == "__main__":
    main("LanceDB", "LANCEDB_URI", connect, load, query)
