"""Milvus: metric IP. Names are words, and texts have a limit."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.kinds import Kind
from hubless.exporting.names import Names

_SCRIPT = '''
from pymilvus import DataType, MilvusClient

URI = os.environ.get("MILVUS_URI", "http://localhost:19530")
MOST_TEXT = 65_535
"""Bytes of a VARCHAR."""


def connect():
    return MilvusClient(uri=URI, token=os.environ.get("MILVUS_TOKEN", ""))


def load(client, replace):
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
        rows = zip(ids, vectors.tolist(), payloads)
        client.upsert(NAME, [{"id": wanted, "vector": vector, **payload} for wanted, vector, payload in rows])
    client.flush(NAME)


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    client.load_collection(NAME)
    how = {"metric_type": "IP", "params": {"ef": max(200, limit)}}
    asked = [augmented(vector, strength).tolist()]
    found = client.search(NAME, asked, anns_field="vector", limit=limit, search_params=how, output_fields=["id"])
    return [(hit["id"], hit["distance"]) for hit in found[0]]
'''

MILVUS = Engine(
    title="Milvus",
    packages=("pymilvus>=2.6",),
    script=_SCRIPT,
    tested="milvus-lite 3.2",
    most_width=32_768,
    collection=Names(r"[A-Za-z0-9_]", r"[A-Za-z_]"),
    columns=Names(r"[A-Za-z0-9_]", r"[A-Za-z_]"),
    types={
        Kind.BOOL: "BOOL",
        Kind.WHOLE: "INT64",
        Kind.NUMBER: "DOUBLE",
        Kind.JSON: "JSON",
        **dict.fromkeys((Kind.TEXT, Kind.DATE, Kind.TIME, Kind.INSTANT), "VARCHAR"),
    },
    most_id_bytes=65_535,
    most_text_bytes=65_535,
)
