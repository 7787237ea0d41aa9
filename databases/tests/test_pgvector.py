import numpy as np
import pytest
from support import stores

import hubless
from hubless.errors import InputError


@pytest.fixture
def table():
    store = stores.made("pgvector", None)
    store.fill(0, stores.FIRST)
    return store


def test_query_uses_the_index_and_strength_0_is_the_raw_ranking(table):
    lines = stores.correct(table).query
    with table.client() as client:
        client.execute("SET enable_seqscan = off")
        said = str(client.execute("EXPLAIN " + lines, {"q": str(stores.QUERIES[0].tolist())}).fetchall())
    assert "photos_hubless_index" in said
    unit = stores.TARGETS[: stores.FIRST] / np.linalg.norm(stores.TARGETS[: stores.FIRST], axis=1, keepdims=True)
    for query in stores.QUERIES:
        raw = table.ask(lines.replace("(%(q)s, 1)", "(%(q)s, 0)"), query)
        assert raw == np.argsort(-unit @ query)[:10].tolist()


def test_text_ids_halfvec_odd_names_and_rows_without_a_vector(table):
    with table.client() as client:
        client.execute('DROP TABLE IF EXISTS "Odd ""table"')
        client.execute('CREATE TABLE "Odd ""table" ("the key" text PRIMARY KEY, "v v" halfvec(16))')
        rows = [(f"ä'{n}", str(row.tolist())) for n, row in enumerate(stores.TARGETS)]
        client.cursor().executemany('INSERT INTO "Odd ""table" VALUES (%s, %s)', [*rows, ("without", None)])
    address = table.address.replace("photos", "Odd%20%22table")
    done = stores.correct(table, address)
    assert (done.written, done.left_out) == (stores.COUNT, 1)
    assert "::halfvec(17)" in done.query
    with table.client() as client:
        client.execute('UPDATE "Odd ""table" SET hubless = NULL')
        assert hubless.correct(address, sync=True).written == stores.COUNT
        client.execute('DROP TABLE "Odd ""table"')


@pytest.mark.parametrize(
    ("columns", "option", "said"),
    [
        ("a int, b int, v vector(16), PRIMARY KEY (a, b)", "", "id: expected a primary key of one column.*2 columns"),
        ("a int, v vector(16)", "", "got a key of 0 columns"),
        ("a int, v vector(16)", "&id=b", "id: expected one of a, v, got b"),
        ("a numeric PRIMARY KEY, v vector(16)", "", "type smallint, .*uuid, got numeric"),
        ("a int PRIMARY KEY, v real[]", "", "vector: expected a column of type vector or halfvec, got none"),
        ("a int PRIMARY KEY, v vector(16), w vector(16)", "", "vector: expected one of v, w, got none"),
        ("a int PRIMARY KEY, v vector(16)", "", "expected rows with a vector, got none"),
        ("a int PRIMARY KEY, v vector", "", "vectors of one length, 16 as most have, got 3 at a 0"),
    ],
)
def test_wrong_tables_are_named(table, columns, option, said):
    with table.client() as client:
        client.execute("DROP TABLE IF EXISTS wrong")
        client.execute(f"CREATE TABLE wrong ({columns})")
        if columns.endswith("v vector"):
            ones = "array_fill(1, ARRAY[16])::real[]::vector FROM generate_series(1, 60) n"
            client.execute("INSERT INTO wrong (a, v) SELECT n, " + ones)
            client.execute("INSERT INTO wrong (a, v) VALUES (0, '[1,2,3]')")
    with pytest.raises(InputError, match=said):
        stores.correct(table, table.address.replace("photos", "wrong") + option)


def test_distances_are_asked_by_the_operator_and_the_index_of_distances(table):
    lines = stores.correct(table, metric="euclidean").query
    assert "<->" in lines
    assert "<#>" not in lines
    index = hubless.Index(metric="euclidean", index="flat")
    index.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], bank_of_targets=True)
    with table.client() as client:
        client.execute("SET enable_seqscan = off")
        asked = {"q": str(stores.QUERIES[0].tolist())}
        assert "photos_hubless_index" in str(client.execute("EXPLAIN " + lines, asked).fetchall())
        scores = [score for _, score in client.execute(lines, asked).fetchall()]
    expected = index.query(stores.QUERIES[0], 10).scores[0]
    np.testing.assert_allclose(np.subtract(scores, scores[0]), expected - expected[0], atol=1e-3)
