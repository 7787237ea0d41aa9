"""What can be known before the work is asked before the work, and runs do not meet."""

import numpy as np
import pyarrow as pa
import pytest
from support import stores

import hubless
from hubless.errors import InputError, ZeroVector
from hubless_databases import correct as correcting
from hubless_databases.addresses import open_database

BESIDE = pytest.mark.parametrize("store", stores.BESIDE, indirect=True)


@pytest.fixture
def no_work(monkeypatch):
    """Let a build fail, which is the work."""
    monkeypatch.setattr(correcting, "build", None)


@pytest.mark.parametrize("store", [name for name in stores.STORES if name != "qdrant"], indirect=True)
def test_zero_vectors_are_named_by_id_before_the_work(store, no_work):
    for row in (7, 70):
        store.change(row, np.zeros(stores.DIM, np.float32))
    with pytest.raises(ZeroVector, match=r"zeros .*id 7, (id )?70|7 and 70|7, 70"):
        stores.correct(store)


@pytest.mark.parametrize("store", ["qdrant"], indirect=True)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"correction": "none"}, "one that corrects, .* nothing to write, got none"),
        ({"correction": "gc"}, "one that folds into offsets"),
        ({"correction": "csl"}, "correction: expected one of auto, "),
        ({"dims": 8}, "got fewer dimensions"),
        ({"parameters": {"k": 3}}, "k"),
    ],
)
def test_corrections_that_cannot_be_written_are_refused_before_the_work(store, no_work, options, said):
    before = store.listed()
    with pytest.raises(InputError, match=said):
        stores.correct(store, **options)
    assert store.listed() == before


@BESIDE
def test_names_of_the_owner_are_left_to_him(store, no_work):
    join = store.separator.join
    store.make(join(["photos", "hubless"]))
    store.make(join(["photos", "other", "1"]))
    before = store.listed()
    with pytest.raises(InputError, match=r"into: expected another name, as photos.hubless is yours"):
        stores.correct(store)
    assert hubless.undo(store.address) == []
    assert store.listed() == before


@pytest.mark.parametrize("store", ["qdrant", "milvus"], indirect=True)
def test_name_that_gets_too_long_is_refused(store, no_work):
    name = "x" * 220
    store.make(name)
    with pytest.raises(InputError, match="into: expected a name of up to 13 letters"):
        stores.correct(store, store.address.replace("photos", name), into="twenty_letters_or_so")


@BESIDE
def test_correction_is_no_collection_to_correct(store, no_work, monkeypatch):
    monkeypatch.undo()
    stores.correct(store)
    pointer = store.address.replace("photos", store.separator.join(["photos", "hubless"]))
    with pytest.raises(InputError, match="collection: expected one of photos, got"):
        stores.correct(store, pointer)


@pytest.mark.parametrize("store", ["qdrant", "milvus", "redis"], indirect=True)
def test_alias_of_a_collection_is_corrected_like_one(store, best, fitted):
    store.alias("pictures")
    done = stores.correct(store, store.address.replace("photos", "pictures"))
    assert "pictures" in done.query
    assert stores.asked(store, done.query) == best(fitted)
    assert hubless.undo(store.address) == []
    assert hubless.undo(store.address.replace("photos", "pictures")) != []


@pytest.mark.parametrize(
    "store", ["qdrant", "chroma", "lancedb", "redis", pytest.param("milvus", marks=pytest.mark.slow)], indirect=True
)
def test_one_of_two_corrections_at_once_is_refused_and_nothing_is_mixed(store, fitted, best, monkeypatch):
    """The second begins when the first is about to write, as if in another process."""
    done = hubless.publish(fitted, store.address)
    other = hubless.Index("nnn", metric="cosine", parameters={"k": 1, "weight": 3}, index="flat")
    other.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], ids=range(stores.FIRST), bank_of_targets=True)
    opened, begun = open_database, []

    def second(first):
        monkeypatch.setattr(correcting, "open_database", lambda address: shared(opened, first, address))
        hubless.publish(fitted, store.address)

    def watched(address):
        database = opened(address)
        write = database.write

        def meeting(*given, **named):
            if not begun:
                begun.append(True)
                if database.title == "LanceDB":
                    with pytest.raises(InputError, match="a table that no other correction is writing to"):
                        second(database)
                else:
                    second(database)
            return write(*given, **named)

        database.write = meeting
        return database

    monkeypatch.setattr(correcting, "open_database", watched)
    if "lancedb" in store.address:
        last = other
        hubless.publish(other, store.address)
    else:
        last = fitted
        with pytest.raises(InputError, match="into: expected no other run meanwhile"):
            hubless.publish(other, store.address)
    assert stores.asked(store, done.query) == best(last)
    monkeypatch.undo()
    assert hubless.correct(store.address, sync=True).written == 0
    again = hubless.publish(other, store.address)
    assert stores.asked(store, again.query) == best(other)


def shared(opened, database, address):
    """Another run, by the client of the first where a folder takes one only."""
    client = getattr(database, "_client", None)
    if client is None or database.title == "Chroma":
        return opened(address)
    second = object.__new__(type(database))
    second.__dict__.update({**database.__dict__, "_copy": None})
    del second.__dict__["write"]
    second.close = lambda: None
    return second


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"correction": "offsets:own.npy"}, "one that is fitted on queries, as its fit gives later"),
        ({"fit_by": "tenant"}, "fit_by: expected one fit for all rows, as rows that come later need it, got 'tenant'"),
    ],
)
def test_fit_that_has_nothing_for_later_rows_is_refused_before_a_database_is_asked(options, said):
    with pytest.raises(InputError, match=said):
        hubless.correct("qdrant://127.0.0.1:1/photos", stores.BANK_QUERIES, **options)


def test_fits_by_groups_are_not_published():
    asked = {"vector": stores.TARGETS[40:80].tolist(), "tenant": ["a", "b"] * 20}
    index = hubless.Index(metric="cosine").fit(
        pa.table(asked), stores.TARGETS[:40], payload={"tenant": ["a", "b"] * 20}, fit_by="tenant", bank_of_targets=True
    )
    with pytest.raises(InputError, match=r"collection: expected one fit for all rows, .* got fits by tenant"):
        hubless.publish(index, "qdrant://127.0.0.1:1/photos")
