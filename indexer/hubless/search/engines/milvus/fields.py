"""The fields of a target in Milvus beside those of its payload, and what Milvus can hold."""

from hubless.search.engines.milvus.expressions import ROW

VECTOR, ID, OFFSET = "vector", "id", "offset"
OURS = (ROW, VECTOR, ID, OFFSET)
MOST_DIM, LEAST_DIM = 32_768, 2
"""Of a vector in Milvus."""
