"""Offsets as a column: SQLite and PostgreSQL rank by their full text as the library does."""

import random
import sqlite3

import numpy as np
import pytest
from support import stores

import hubless

WORDS = [f"w{number}" for number in range(200)]
DOCS, DEPTH = 150, 50


def texts():
    draw = random.Random(1)  # noqa: S311
    weights = [1 / (5 + number) for number in range(200)]
    docs = [" ".join(draw.choices(WORDS, weights, k=draw.randint(4, 60))) for _ in range(DOCS)]
    return docs, [" ".join(draw.choices(WORDS, weights, k=5)) for _ in range(120)]


def corrected(log):
    """Return a correction of the items of a log by offsets that move many hits."""
    fitted = hubless.ScoreCorrection.fit(log)
    return hubless.ScoreCorrection(fitted.ids, np.random.default_rng(0).normal(0, 0.2, len(fitted.ids)))


SQLITE = """
SELECT id FROM (SELECT rowid AS id, -bm25(docs) AS score FROM docs WHERE docs MATCH :asked ORDER BY 2 DESC LIMIT 50)
LEFT JOIN offsets USING (id) ORDER BY score - coalesce(offset, :smallest) DESC, id LIMIT 10
"""
POSTGRES = """
SELECT id FROM (
    SELECT id, ts_rank(words, asked)::float8 AS score, hub FROM docs, to_tsquery('simple', %s) asked
    WHERE words @@ asked ORDER BY score DESC, id LIMIT 50
) hits ORDER BY score - hub DESC, id LIMIT 10
"""


def test_fts5_of_sqlite_ranks_as_the_library():
    docs, queries = texts()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE docs USING fts5(body)")
    database.executemany("INSERT INTO docs(rowid, body) VALUES (?, ?)", list(enumerate(docs)))

    def search(text):
        asked = "SELECT rowid, -bm25(docs) FROM docs WHERE docs MATCH ? ORDER BY 2 DESC LIMIT 50"
        return tuple(map(list, zip(*database.execute(asked, (" OR ".join(text.split()),)), strict=True)))

    correction = corrected([search(text) for text in queries[:100]])
    database.execute("CREATE TABLE offsets (id INTEGER PRIMARY KEY, offset REAL)")
    database.executemany("INSERT INTO offsets VALUES (?, ?)", list(correction.offsets.items()))
    moved = 0
    for text in queries[100:]:
        ids, scores = search(text)
        given = {"asked": " OR ".join(text.split()), "smallest": correction.smallest}
        there = [id_ for (id_,) in database.execute(SQLITE, given)]
        assert there == correction.rerank(ids, scores, 10).ids
        moved += there != ids[:10]
    database.close()
    assert moved > 10


@pytest.fixture(scope="module")
def postgres():
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(stores.postgres(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS docs")
        yield connection
        connection.execute("DROP TABLE docs")
    stores.stop()


def test_full_text_of_postgresql_ranks_as_the_library(postgres):
    docs, queries = texts()
    postgres.execute("CREATE TABLE docs (id int PRIMARY KEY, words tsvector, hub float8)")
    with postgres.cursor() as cursor:
        cursor.executemany("INSERT INTO docs VALUES (%s, to_tsvector('simple', %s), NULL)", list(enumerate(docs)))

    def search(text):
        asked = (
            "SELECT id, ts_rank(words, asked)::float8 AS score FROM docs, to_tsquery('simple', %s) asked "
            "WHERE words @@ asked ORDER BY score DESC, id LIMIT 50"
        )
        rows = postgres.execute(asked, (" | ".join(text.split()),)).fetchall()
        return [id_ for id_, _ in rows], [score for _, score in rows]

    correction = corrected([search(text) for text in queries[:100]])
    postgres.execute("UPDATE docs SET hub = %s", (correction.smallest,))
    with postgres.cursor() as cursor:
        cursor.executemany(
            "UPDATE docs SET hub = %s WHERE id = %s", [(h, id_) for id_, h in correction.offsets.items()]
        )
    moved = 0
    for text in queries[100:]:
        ids, scores = search(text)
        there = [id_ for (id_,) in postgres.execute(POSTGRES, (" | ".join(text.split()),))]
        wanted = correction.rerank(ids, scores)
        first = dict(zip(wanted.ids, wanted.scores, strict=True))
        assert [first[each] for each in there] == pytest.approx(wanted.scores[:10], abs=1e-12)
        moved += there != ids[:10]
    assert moved > 10
