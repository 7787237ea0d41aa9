"""Load an export into Milvus and ask it, with the hubness taken out of the ranking.

    pip install numpy pyarrow 'pymilvus>=2.6'
    python recipe.py load     # then `check queries.npy` and `query queries.npy`, see recipe_base.py

Tested with milvus-lite 3.2.
"""

import os

from pymilvus import DataType, MilvusClient
from recipe_base import COLUMNS, NAME, STRENGTH, WHOLE_IDS, WIDTH, augmented, blocks, main, refuse_unless

URI = os.environ.get("MILVUS_URI", "http://localhost:19530")
MOST_TEXT = 65_535
"""Bytes of a VARCHAR."""


def connect():
    """Return a client of Milvus."""
    return MilvusClient(uri=URI, token=os.environ.get("MILVUS_TOKEN", ""))


def load(client, replace):
    """Load all targets, as they stand in targets.parquet."""
    if client.has_collection(NAME):
        refuse_unless(replace)
        client.drop_collection(NAME)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    if WHOLE_IDS:
        schema.add_field("id", DataType.INT64, is_primary=True)
    else:
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MOST_TEXT)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=WIDTH)
    for name, kind in COLUMNS.items():
        more = {"max_length": MOST_TEXT} if kind == "VARCHAR" else {}
        schema.add_field(name, getattr(DataType, kind), nullable=True, **more)
    index = client.prepare_index_params()
    # IP, not COSINE: that would divide by the length, and the offset with it
    index.add_index("vector", index_type="HNSW", metric_type="IP", params={"M": 16, "efConstruction": 200})
    client.create_collection(NAME, schema=schema, index_params=index, consistency_level="Strong")
    for ids, vectors, payloads in blocks(500):
        rows = zip(ids, vectors.tolist(), payloads, strict=True)
        client.upsert(NAME, [{"id": wanted, "vector": vector, **payload} for wanted, vector, payload in rows])
    client.flush(NAME)


def query(client, vector, limit=10, strength=STRENGTH, where=None):
    """Return ids and corrected scores of the best targets, best first.

    `where` is an expression, as `year >= 2000`.
    """
    client.load_collection(NAME)
    how = {"metric_type": "IP", "params": {"ef": max(200, limit)}}
    found = client.search(
        NAME,
        [augmented(vector, strength).tolist()],
        filter=where or "",
        anns_field="vector",
        limit=limit,
        search_params=how,
        output_fields=["id"],
    )
    return [(hit["id"], hit["distance"]) for hit in found[0]]


if __name__ == "__main__":
    main("Milvus", "MILVUS_URI", connect, load, query)
