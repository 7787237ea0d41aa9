"""Tests of tests/service/test_writes.py that search, filter or page, with the vectors in Milvus."""

import pytest
from service.test_writes import (
    client,  # noqa: F401
    correction,  # noqa: F401
    test_writes_are_found_by_all_and_survive_a_restart_and_stand_in_the_library_too,  # noqa: F401
)
from support import writing


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path, engine="milvus")
    return tmp_path
