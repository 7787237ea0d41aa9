"""tests/service/test_same_hits.py, with the vectors in Milvus."""

from service.test_same_hits import *  # noqa: F403
