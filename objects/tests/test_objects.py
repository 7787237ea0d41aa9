import threading
from datetime import timedelta

import pytest
from support.object_storage import ADDRESS, failing, hanging, truncating
from test_clouds import (  # noqa: F401
    test_object_is_replaced_only_if_it_is_as_it_was,
    test_objects_are_read_written_listed_and_removed,
)

from hubless.errors import StorageError
from hubless_objects import objects
from hubless_objects.objects import Objects


@pytest.fixture
def there(store):
    store.put("some/catalog/one", b"0123456789")
    store.faults.clear()
    return Objects(ADDRESS)


@pytest.fixture
def address(store):
    return ADDRESS


def test_replacement_whose_answer_was_lost_counts_as_done(there, store):
    tag, lost = there.tag("one"), [1]

    def lose_the_answer(method, path, query, respond, start_response):
        if method != "PUT" or not lost.pop():
            lost.append(0)
            return None
        lost.append(0)
        answer = failing(1, method="PUT")
        b"".join(respond())
        return answer(method, path, query, respond, lambda *_: None)

    store.faults.add(lose_the_answer)
    there.replace("one", b"new", tag)
    assert there.read("one") == b"new"


@pytest.mark.parametrize(
    "fault",
    [failing(3), failing(2, status="503 Slow Down", code="SlowDown"), truncating(3, "one")],
    ids=["500", "503", "truncated"],
)
def test_failures_that_pass_are_tried_again(there, store, fault):
    store.faults.add(fault)
    assert there.read("one") == b"0123456789"
    assert there.read_part("one", 2, 10) == b"23456789"


def test_store_that_stays_broken_is_a_storage_error_naming_the_object(there, store):
    store.faults.add(failing(1000))
    with pytest.raises(StorageError, match=rf"{ADDRESS}/one: cannot be reached"):
        there.read("one")
    assert store.faults.asked.count(("GET", "/hubless/some/catalog/one")) == 1 + objects.RETRIES


def test_store_that_does_not_answer_is_given_up(there, store, monkeypatch):
    monkeypatch.setitem(objects.CLIENT, "timeout", timedelta(seconds=0.2))
    over = threading.Event()
    store.faults.add(hanging(over))
    try:
        with pytest.raises(StorageError, match="cannot be reached"):
            Objects(ADDRESS).read("one")
    finally:
        over.set()


def test_missing_permission_is_named_and_not_tried_again(there, store):
    store.faults.add(failing(1000, status="403 Forbidden", code="AccessDenied"))
    with pytest.raises(StorageError, match=rf"{ADDRESS}/one: no permission"):
        there.read("one")
    assert store.faults.asked.count(("GET", "/hubless/some/catalog/one")) == 1
