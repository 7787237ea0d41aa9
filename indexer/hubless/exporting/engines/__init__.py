"""Databases that an export can be for: one module each, with what it allows and the script that loads and asks it."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.engines.chroma import CHROMA
from hubless.exporting.engines.elasticsearch import ELASTICSEARCH
from hubless.exporting.engines.lancedb import LANCEDB
from hubless.exporting.engines.milvus import MILVUS
from hubless.exporting.engines.opensearch import OPENSEARCH
from hubless.exporting.engines.pgvector import PGVECTOR
from hubless.exporting.engines.qdrant import QDRANT
from hubless.exporting.engines.weaviate import WEAVIATE

__all__ = ["ENGINES", "Engine"]

ENGINES: dict[str, Engine] = {
    "qdrant": QDRANT,
    "pgvector": PGVECTOR,
    "opensearch": OPENSEARCH,
    "elasticsearch": ELASTICSEARCH,
    "milvus": MILVUS,
    "weaviate": WEAVIATE,
    "chroma": CHROMA,
    "lancedb": LANCEDB,
}
