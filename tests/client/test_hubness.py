"""Live hubness."""

import pytest
from support import catalogs

from hubless_client.hubness import Drift, HubnessByChance, LiveHubness, RankingHubness


def test_older_server_says_nothing_of_chance_and_gives_no_advice():
    figures = {"queries": 1.0, "skewness": 0.5, "top_hub_share": 0.1, "antihub_share": 0.2, "hubs": []}
    assert RankingHubness.from_json(figures).chance is None
    assert RankingHubness.from_json(figures | {"chance": {"skewness": 0.1, "antihub_share": 0.3}}).chance == (
        HubnessByChance(0.1, 0.3)
    )
    body = {"k": 10, "window": 2048, "seen": 1, "collection": "words", "version": "v"}
    body |= {"served": None, "corrected": None, "raw": None, "drift": {"drift": 4.0, "queries": 60}}
    assert LiveHubness.from_json(body, None).drift == Drift(4.0, 60, None)
    body["drift"]["advice"] = "build again"
    assert LiveHubness.from_json(body, None).drift.advice == "build again"


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
