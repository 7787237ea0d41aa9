"""tests/service/test_points.py, with the vectors in Milvus."""

from service.test_points import *  # noqa: F403
