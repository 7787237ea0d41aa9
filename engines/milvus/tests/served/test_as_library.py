"""tests/service/test_as_library.py, with the vectors in Milvus."""

from service.test_as_library import *  # noqa: F403
