"""The owner's application goes on as before, and what it changes is never ranked by an old vector."""

import itertools

import pytest
from support import stores

import hubless
from hubless_databases import addresses, correct as correcting

EVERY = pytest.mark.parametrize("store", stores.KINDS, indirect=True)


@EVERY
def test_owners_insert_update_delete_and_search_work_as_before(store):
    kept = stores.Kept(store)

    def a_day():
        for work in (kept.insert, kept.change, kept.delete, kept.change):
            work()
        assert [store.search(query) for query in stores.QUERIES] == kept.found()

    a_day()
    stores.correct(store)
    a_day()
    hubless.correct(store.address, sync=True)
    a_day()
    stores.correct(store)
    hubless.undo(store.address)
    a_day()


@EVERY
def test_sync_mends_rows_that_were_added_changed_or_deleted(store):
    kept = stores.Kept(store)
    stores.correct(store)
    assert kept.behind() == []
    for work in (kept.insert, kept.change, kept.change, kept.delete):
        work()
    hubless.correct(store.address, sync=True)
    assert kept.behind() == []
    assert hubless.correct(store.address, sync=True).written == 0


@pytest.mark.parametrize("store", ["qdrant", "chroma", "milvus"], indirect=True)
def test_sync_brings_changed_payload_to_the_copy(store):
    lines = stores.correct(store).query
    before = stores.asked(store, lines)
    store.rename(5, "another")
    assert hubless.correct(store.address, sync=True).written == 1
    assert hubless.correct(store.address, sync=True).written == 0
    assert stores.asked(store, lines) == before


@EVERY
@pytest.mark.parametrize("sync", [False, True])
def test_no_row_that_changes_during_a_run_keeps_an_old_vector(store, sync, monkeypatch):
    kept, works = stores.Kept(store), itertools.cycle(["change", "insert", "change", "delete"])
    monkeypatch.setattr(correcting, "PAGE", 30)
    if sync:
        stores.correct(store)
        for _ in range(6):
            kept.change()
    left, opened = iter(range(6 if sync else 16)), addresses.open_database

    def watched(address):
        """A database before and after each step of which the owner's application does something."""
        database = opened(address)
        if hasattr(store, "shared"):
            store.shared = database._client
        for name in ("begin", "write", "swap", "finish"):
            monkeypatch.setattr(database, name, between(getattr(database, name)))
        return database

    def between(step):
        def run(*given, **named):
            owner()
            done = step(*given, **named)
            owner()
            return done

        return run

    def owner():
        if next(left, None) is not None:
            getattr(kept, next(works))()

    monkeypatch.setattr(correcting, "open_database", watched)
    if sync:
        hubless.correct(store.address, sync=True)
    else:
        stores.correct(store)
    store.shared = None
    assert next(left, None) is None
    assert kept.behind() == []
    assert [store.search(query) for query in stores.QUERIES] == kept.found()
