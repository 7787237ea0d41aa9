"""Tests of tests/service/test_writes.py that search, filter or page, with the vectors in Milvus."""

import pytest
from service.test_writes import (
    client,  # noqa: F401
    correction,  # noqa: F401
    test_deleted_points_are_found_no_more_and_k_stays_k,  # noqa: F401
    test_many_writers_lose_nothing_and_get_numbers_of_their_own,  # noqa: F401
    test_patch_changes_the_columns_that_are_given_and_no_others,  # noqa: F401
    test_scroll_goes_on_while_points_come_and_go,  # noqa: F401
    test_what_meets_a_filter_is_deleted_also_of_what_was_just_put,  # noqa: F401
    test_writes_survive_a_restart_and_stand_in_the_library_too,  # noqa: F401
    test_written_points_are_found_corrected_at_once,  # noqa: F401
)
from support import writing


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path, engine="milvus")
    return tmp_path
