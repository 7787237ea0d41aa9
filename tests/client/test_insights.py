"""The endpoints that look into a collection: occurrence, findings, projection, bank, access, versions."""

import numpy as np
import pytest
from support import catalogs, kept, versions
from support.serving import serving_catalog
from support.wire import Server

import hubless_client
from hubless_client import Client


def test_occurrence_counts_every_target_and_names_the_largest_hub(client):
    found = client.occurrence("words", limit=3)
    assert (found.k, found.source) == (10, "build")
    assert len(found.raw.hubs) == len(found.corrected.hubs) == 3
    assert found.raw.hubs[0].raw == found.raw.most == max(found.raw.histogram)
    assert found.never.raw == found.raw.histogram.get(0, 0)
    assert 0 < found.chance.antihub_share < 1


def test_findings_are_bank_queries_whose_answers_hold_the_target(client):
    hub = client.occurrence("words").raw.hubs[0].id
    found = client.findings("words", hub)
    assert found.id == hub
    first = found.raw[0]
    query = client.bank_query("words", first.query)
    assert (query.number, query.stored) == (first.query, found.queries)
    hits = client.query("words", query.vector, strength=0)
    assert hits[first.rank - 1].id == hub
    assert client.query("words", query.vector)[0].id == first.first
    assert client.findings("numbers", catalogs.LARGEST_ID).id == catalogs.LARGEST_ID


def test_kept_scan_is_read_and_none_without_one(ask, client, tmp_path):
    assert client.kept_scan("words") is None
    scan = kept.scan_of_words(catalogs.build(tmp_path))
    found = ask(Server({"scan": scan.model_dump(), "collection": "words"}), "kept_scan", "words")
    assert (found.version, found.alerts, found.notes) == (scan.version, 1, tuple(scan.notes))
    assert found.made.isoformat() == scan.made
    assert [each.why for each in found.findings] == [kept.WHY, "nothing stands out"]
    assert found.findings[0].id == scan.findings[0].id


def test_projection_has_a_row_for_each_target_and_the_asked_column(client):
    drawn = client.projection("words", column="title")
    assert len(drawn.targets) == drawn.count == catalogs.COUNT
    first = drawn.targets[0]
    assert (first.value, first.raw is None) == (client.point("words", first.id).payload["title"], False)
    query = client.bank_query("words", 7)
    assert (len(drawn.queries), len(query.vector)) == (query.stored, catalogs.DIM)
    assert np.asarray(query.vector).dtype == np.float32


def test_access_says_what_the_key_may_do(ask):
    body = {"keys": True, "role": "write", "collections": ["songs"], "bank_queries": False}
    server = Server(body)
    assert ask(server, "access") == hubless_client.AccessInfo(True, "write", ("songs",), bank_queries=False)
    assert server.request.url.path == "/v1/access"
    assert ask(Server({**body, "collections": None}), "access").collections is None


def test_versions_are_read_and_compared(tmp_path):
    first, second = versions.build(tmp_path, 2)
    with serving_catalog(tmp_path) as base_url, Client(base_url) as client:
        new = client.version(versions.NAME, second)
        assert (new.version, new.collection, new.dim) == (second, versions.NAME, 8)
        assert new.created.tzinfo is not None
        assert new.bytes > 0
        changed = client.diff(versions.NAME, second)
        assert (changed.version, changed.since) == (second, first)
        assert changed == client.diff(versions.NAME, second, first, request_id=changed.request_id)
        back = client.diff(versions.NAME, first, second)
        assert (back.added, back.removed) == (changed.removed, changed.added)
        assert [field.before for field in back.fields] == [field.after for field in changed.fields]
        assert all(each.kept == len({*each.before} & {*each.after}) for each in changed.canaries)


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
