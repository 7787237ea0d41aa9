"""Indexes of Redis as people make them, and rows that go while they are written."""

import numpy as np
import pytest
from support import stores

from hubless.errors import InputError
from hubless_databases.addresses import open_database

REST = "stock NUMERIC SORTABLE UNF title AS t TEXT WEIGHT 2 NOSTEM SORTABLE tag TAG SEPARATOR | SORTABLE NOINDEX at GEO"
VECTOR = f"image AS v VECTOR FLAT 6 TYPE FLOAT64 DIM {stores.DIM} DISTANCE_METRIC COSINE area GEOSHAPE FLAT"


@pytest.fixture
def store():
    return stores.made("redis", None)


def test_copy_has_the_fields_of_the_owner_whatever_their_types_and_prefixes(store, fitted, best):
    client = store.client()
    client.execute_command("FT.CREATE", "photos", "PREFIX", 2, "p:", "q*:", "SCHEMA", *f"{REST} {VECTOR}".split())
    client.hset("q*:1", "stock", 7)  # without a vector
    for n, row in enumerate(stores.TARGETS[: stores.FIRST]):
        client.hset(f"p:{n}", mapping={"image": row.astype(np.float64).tobytes(), **stores.payload(n)})
    done = stores.correct(store)
    assert (done.written, done.left_out) == (stores.FIRST, 1)
    assert stores.asked(store, done.query, below=50) == best(fitted, below=50)
    fields, copied = (client.ft(name).info()["attributes"] for name in ("photos", "photos-hubless"))
    assert [each for each in copied if b"VECTOR" not in each] == [each for each in fields if b"VECTOR" not in each]


def test_index_of_some_rows_of_its_prefix_is_refused(store):
    store.client().execute_command("FT.CREATE", "photos", "FILTER", "@stock==1", "SCHEMA", "stock", "NUMERIC")
    with pytest.raises(InputError, match="index: expected one of hashes, without FILTER"):
        open_database(store.address)


def test_row_that_is_deleted_while_it_is_written_does_not_come_back(store):
    store.fill(0, 9)
    database = open_database(store.address)
    database.begin("hubless", stores.DIM)
    page = database._read("photos", ["3", "4"], payload=False)
    store.delete(3)
    database._put(database._copy, "hubless", page)
    assert [store.client().hlen(f"p:{n}") for n in (3, 4, 5)] == [0, 4, 3]
    database.close()
