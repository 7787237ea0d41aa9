"""tests/service/test_asking.py, with the vectors in Milvus."""

from service.test_asking import *  # noqa: F403
