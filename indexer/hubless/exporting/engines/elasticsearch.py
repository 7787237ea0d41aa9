"""Elasticsearch: similarity max_inner_product, in an index that is not quantised."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.engines.web import FIELD_NAMES, HTTP, INDEX_NAMES, MAPPED, SEARCH

_SCRIPT = """
URL = os.environ.get("ELASTICSEARCH_URL", "http://localhost:9200")
SETTINGS = {}
# max_inner_product, not cosine: that would divide by the length, and the offset with it. The default index rounds
# numbers to 8 bits or to 1, and the offset with them
VECTOR = {
    "type": "dense_vector",
    "dims": WIDTH,
    "index": True,
    "similarity": "max_inner_product",
    "index_options": {"type": "hnsw"},
}


def question(vector, limit):
    asked = {"field": "vector", "query_vector": vector, "k": limit, "num_candidates": max(200, limit)}
    return {"knn": asked}
"""

ELASTICSEARCH = Engine(
    title="Elasticsearch",
    packages=(),
    script=HTTP + _SCRIPT + SEARCH,
    tested="",
    most_width=4096,
    collection=INDEX_NAMES,
    columns=FIELD_NAMES,
    types=MAPPED,
    most_id_bytes=512,
)
