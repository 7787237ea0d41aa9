import numpy as np

import hubless

RNG = np.random.default_rng(5)
TARGETS, BANK = RNG.normal(size=(30, 6)), RNG.normal(size=(40, 6))
ROWS = [{"price": float(row), "title": f"title {row}"} for row in range(30)]


def fitted(payload=ROWS):
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS, payload=payload)


def test_hits_bring_their_whole_payload_or_some_columns_or_none():
    index = fitted()
    whole = index.query(BANK[:2], limit=4, with_payload=True)
    assert [[hit.payload for hit in hits] for hits in whole] == [[ROWS[hit.row] for hit in hits] for hits in whole]
    some = index.query(BANK[0], limit=4, skip=1, with_payload=["price"])
    assert [hit.payload for hit in some[0]] == [{"price": float(hit.row)} for hit in some[0]]
    assert [hit.payload for hit in index.query(BANK[0], limit=2)[0]] == [None, None]


def test_without_payload_there_is_none_to_bring():
    assert [hit.payload for hit in fitted(None).query(BANK[0], limit=2, with_payload=True)[0]] == [None, None]


def test_hits_become_a_table_with_a_row_each():
    found = fitted().query(BANK[:2], limit=4, with_payload=["price"])
    frame = found.to_pandas()
    assert frame["rank"].tolist() == [1, 2, 3, 4] * 2
    expected = [(hit.id, hit.score, hit.payload["price"]) for hits in found for hit in hits]
    assert [*zip(frame["id"], frame["score"], frame["payload.price"], strict=True)] == expected
