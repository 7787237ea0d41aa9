"""LanceDB: distance dot. It takes Arrow as it is, but for maps."""

import pyarrow as pa

from hubless.exporting.engines.base import Engine
from hubless.exporting.names import Names

_SCRIPT = '''
import lancedb
import pyarrow as pa

URI = os.environ.get("LANCEDB_URI", str(HERE / "lancedb"))
"""A folder, or an address of object storage or of LanceDB Cloud."""
INDEX_FROM = int(os.environ.get("LANCEDB_INDEX_FROM", 100_000))
"""Rows from which an index is made. With fewer, LanceDB compares with all of them."""


def connect():
    return lancedb.connect(URI, api_key=os.environ.get("LANCEDB_API_KEY"))


def load(client, replace):
    if NAME in client.list_tables(limit=1_000_000).tables:
        refuse_unless(replace)
    with pq.ParquetFile(DATA) as file:
        reader = pa.RecordBatchReader.from_batches(file.schema_arrow, counted(file.iter_batches(10_000)))
        table = client.create_table(NAME, reader, mode="overwrite" if replace else "create")
    if COUNT >= INDEX_FROM:
        # dot, not cosine: that would divide by the length, and the offset with it. FLAT, not PQ, which rounds it
        table.create_index(metric="dot", index_type="IVF_FLAT", vector_column_name="vector")


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    asked = client.open_table(NAME).search(augmented(vector, strength), vector_column_name="vector")
    found = asked.distance_type("dot").nprobes(50).select(["id", "_distance"]).limit(limit).to_list()
    return [(row["id"], 1 - row["_distance"]) for row in found]
'''


def _is_no_map(stored: pa.DataType) -> bool:
    inside = [stored]
    while inside:
        kind = inside.pop()
        if pa.types.is_map(kind):
            return False
        inside += [kind.field(number).type for number in range(kind.num_fields)]
    return True


LANCEDB = Engine(
    title="LanceDB",
    packages=("lancedb>=0.25",),
    script=_SCRIPT,
    tested="LanceDB 0.40, in one process",
    most_width=2**31 - 1,
    collection=Names(r"[A-Za-z0-9_.-]"),
    columns=Names(r"[^.]"),
    keeps=_is_no_map,
)
