"""OpenSearch: space type innerproduct, with the engine faiss."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.engines.web import FIELD_NAMES, HTTP, INDEX_NAMES, MAPPED, SEARCH

_SCRIPT = """
URL = os.environ.get("OPENSEARCH_URL", "http://localhost:9200")
SETTINGS = {"settings": {"index": {"knn": True}}}
# innerproduct, not cosinesimil: that would divide by the length, and the offset with it
VECTOR = {
    "type": "knn_vector",
    "dimension": WIDTH,
    "method": {
        "name": "hnsw",
        "engine": "faiss",
        "space_type": "innerproduct",
        "parameters": {"m": 16, "ef_construction": 200, "ef_search": 200},
    },
}


def question(vector, limit):
    return {"query": {"knn": {"vector": {"vector": vector, "k": limit}}}}
"""

OPENSEARCH = Engine(
    title="OpenSearch",
    packages=(),
    script=HTTP + _SCRIPT + SEARCH,
    tested="",
    most_width=16_000,
    collection=INDEX_NAMES,
    columns=FIELD_NAMES,
    types=MAPPED,
    most_id_bytes=512,
)
