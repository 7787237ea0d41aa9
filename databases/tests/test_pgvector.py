import json
from pathlib import Path

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


def correct(store, address=None, **options):
    options = {"bank_of_targets": True} | options
    return hubless.correct(address or store.address, stores.BANK_QUERIES, **options)


def vectors_of(store, first):
    with store.client() as client:
        rows = client.execute("SELECT hubless::text FROM photos WHERE id >= %s ORDER BY id", [first]).fetchall()
    return [None if text is None else json.loads(text) for (text,) in rows]


@pytest.mark.parametrize("options", [{}, {"metric": "dot"}, {"correction": "is"}])
def test_refresh_in_sql_gives_new_rows_the_offsets_of_the_stored_fit(table, options):
    correct(table, **options)
    table.fill(stores.FIRST)
    assert vectors_of(table, stores.FIRST) == [None] * 20
    with table.client() as client:
        assert client.execute("SELECT photos_hubless_refresh()").fetchone() == (20,)
    by_sql = vectors_of(table, stores.FIRST)
    with table.client() as client:
        client.execute("UPDATE photos SET hubless = NULL WHERE id >= %s", [stores.FIRST])
    assert hubless.correct(table.address, sync=True).written == 20
    np.testing.assert_allclose(by_sql, vectors_of(table, stores.FIRST), rtol=1e-4, atol=1e-5)


def test_rows_are_boosted_as_the_page_says(table):
    lines = correct(table).query
    page = (Path(__file__).parents[2] / "databases" / "docs" / "your-database.md").read_text("utf-8")
    boost = page.partition("```sql\nUPDATE")[2].partition("```")[0].replace("512", "16").replace("513", "17")
    before = table.ask(lines, stores.QUERIES[0])
    with table.client() as client:
        client.execute("ALTER TABLE photos ADD COLUMN featured bool")
        client.execute("UPDATE photos SET featured = (id = %s)", [before[-1]])
        scores = [score for _, score in client.execute(lines, {"q": str(stores.QUERIES[0].tolist())}).fetchall()]
        client.execute("UPDATE" + boost.replace("0.05", "5"))
        boosted = client.execute(lines, {"q": str(stores.QUERIES[0].tolist())}).fetchall()
    assert boosted[0][0] == before[-1]
    assert boosted[0][1] == pytest.approx(scores[-1] + 5, abs=1e-5)
    assert [found for found, _ in boosted[1:]] == before[:-1]


def test_changed_vector_loses_its_correction_and_other_columns_do_not(table):
    correct(table)
    with table.client() as client:
        client.execute("UPDATE photos SET stock = stock + 1")
        client.execute("UPDATE photos SET embedding = embedding * embedding WHERE id = 7")
    assert [row for row, one in enumerate(vectors_of(table, 0)) if one is None] == [7]
    assert hubless.correct(table.address, sync=True).written == 1


def test_query_uses_the_index_and_strength_0_is_the_raw_ranking(table):
    lines = correct(table).query
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
    done = correct(table, address)
    assert (done.written, done.left_out) == (stores.COUNT, 1)
    assert "::halfvec(17)" in done.query
    with table.client() as client:
        client.execute('UPDATE "Odd ""table" SET hubless = NULL')
        assert client.execute('SELECT "Odd ""table_hubless_refresh"()').fetchone() == (stores.COUNT,)
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
        ("a int PRIMARY KEY, v vector(16), hubless int", "", "into: expected a name that no column has yet"),
        ("a int PRIMARY KEY, v vector(16)", "", "expected rows with a vector, got none"),
        ("a int PRIMARY KEY, v vector", "", "vectors of one length, 16 as most have, got 3 at a 0"),
    ],
)
def test_wrong_tables_are_named(table, columns, option, said):
    with table.client() as client:
        client.execute("DROP TABLE IF EXISTS wrong")
        client.execute(f"CREATE TABLE wrong ({columns})")
        if "hubless int" in columns or columns.endswith("v vector"):
            ones = "array_fill(1, ARRAY[16])::real[]::vector FROM generate_series(1, 60) n"
            client.execute("INSERT INTO wrong (a, v) SELECT n, " + ones)
        if columns.endswith("v vector"):
            client.execute("INSERT INTO wrong (a, v) VALUES (0, '[1,2,3]')")
    with pytest.raises(InputError, match=said):
        correct(table, table.address.replace("photos", "wrong") + option)


def test_distances_are_asked_by_the_operator_and_the_index_of_distances(table):
    lines = correct(table, metric="euclidean").query
    assert "<->" in lines
    assert "<#>" not in lines
    assert "refresh" not in lines  # new rows get their offsets by sync
    index = hubless.Index(metric="euclidean", index="flat")
    index.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], bank_of_targets=True)
    with table.client() as client:
        client.execute("SET enable_seqscan = off")
        asked = {"q": str(stores.QUERIES[0].tolist())}
        assert "photos_hubless_index" in str(client.execute("EXPLAIN " + lines, asked).fetchall())
        scores = [score for _, score in client.execute(lines, asked).fetchall()]
    expected = index.query(stores.QUERIES[0], 10).scores[0]
    np.testing.assert_allclose(np.subtract(scores, scores[0]), expected - expected[0], atol=1e-3)
