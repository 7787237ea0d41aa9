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
    assert sum(found.raw.histogram.values()) == catalogs.COUNT
    assert found.never.raw == found.raw.histogram.get(0, 0)
    assert found.chance.antihub_share == pytest.approx((1 - found.k / catalogs.COUNT) ** found.queries)
    assert found.corrected.skewness < found.raw.skewness


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


def test_findings_of_a_number_are_asked_by_its_digits(client):
    assert client.findings("numbers", catalogs.LARGEST_ID).id == catalogs.LARGEST_ID
    with pytest.raises(hubless_client.CannotSend, match="id: expected a string or a whole number"):
        client.findings("numbers", 1.5)


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
    titles = {row.id: row.value for row in drawn.targets}
    assert titles == {point.id: point.payload["title"] for point in client.scroll("words")}
    assert len(drawn.queries) == client.bank_query("words", 0).stored
    assert drawn.targets[0].raw is not None
    assert client.projection("words").targets[0].value is None


def test_projection_of_a_version_that_nobody_counted_has_no_occurrence(ask):
    targets = {"id": ["a"], "x": [1.0], "y": [2.0], "offset": [0.1], "raw": None, "corrected": None, "value": None}
    body = {
        "count": 1,
        "method": "pca",
        "explained": [0.5, 0.1],
        "targets": targets,
        "queries": {"x": [0.0], "y": [3.0]},
    }
    drawn = ask(Server({**body, "collection": "songs", "version": "v"}), "projection", "songs")
    assert drawn.targets == (hubless_client.ProjectedTarget("a", 1.0, 2.0, 0.1, None, None, None),)
    assert drawn.queries == ((0.0, 3.0),)


def test_bank_query_is_an_array_that_numpy_reads(client):
    query = client.bank_query("words", 7)
    assert np.asarray(query.vector).dtype == np.float32
    assert len(query.vector) == catalogs.DIM
    with pytest.raises(hubless_client.ApiInvalidInput, match="number"):
        client.bank_query("words", 10**6)


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
        assert {field.field: field.before for field in back.fields} == {
            field.field: field.after for field in changed.fields
        }
        for canary in changed.canaries:
            assert canary.kept == len(set(canary.before) & set(canary.after))
