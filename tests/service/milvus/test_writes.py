"""tests/service/test_writes.py, with the vectors in Milvus."""

import pytest
from service.test_writes import *  # noqa: F403
from support import writing

del test_write_of_one_worker_is_read_through_any_other  # noqa: F821 (its processes know no Milvus)


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path, engine="milvus")
    return tmp_path
