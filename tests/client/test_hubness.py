"""Live hubness."""

import pytest
from support import catalogs


def test_hubness_is_that_of_the_answers(client, words):
    query = catalogs.words().query_bank[0]
    answer = client.query_batch("words", [query] * 200)  # more than all other tests together ask
    found = client.hubness("words")
    assert (found.collection, found.version, found.k) == ("words", words.version, 10)
    assert found.seen >= found.served.queries >= 200
    assert {hub.id for hub in found.served.hubs} & {hit.id for hit in client.query("words", query)}
    assert 0 < found.served.hubs[0].share == pytest.approx(found.served.top_hub_share)
    assert found.served.chance.antihub_share < 1
    assert found.served.chance.skewness > 0
    assert found.request_id != answer.request_id
    assert client.hubness("numbers").drift is None
