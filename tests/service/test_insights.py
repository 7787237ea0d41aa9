"""What a service says about hubs, the map, and what two versions differ in."""

import shutil
from dataclasses import replace

import httpx
import numpy as np
import pytest
from support import catalogs, kept
from support.contract import code_of
from support.serving import serving_catalog

import hubless
from hubless import measures
from hubless.builder.pipeline.survey import by_chance
from hubless.measures.projection import project
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless_service.routes.versions import _comparing

WORDS = "/v1/collections/words"
K = 10


def stored(catalog, name="words"):
    folder = hubless.Catalog(catalog).folder(name)
    return np.load(bundle.segment_path(folder, folder.name) / bundle.OCCURRENCE).astype(int)


def test_occurrence_is_what_the_build_measured(http, catalog, words):
    answer = http.get(f"{WORDS}/occurrence", params={"limit": 7}).json()
    counts = stored(catalog)
    assert (answer["source"], answer["queries"], answer["held_out"]) == ("build", 90, True)
    for ranking, found in zip(("raw", "corrected"), counts, strict=True):
        seen = answer[ranking]
        assert seen["skewness"] == pytest.approx(measures.skewness(found))
        assert (seen["most"], seen["antihub_share"]) == (found.max(), np.mean(found == 0))
        assert {one["occurrence"]: one["targets"] for one in seen["histogram"]} == {
            int(n): int((found == n).sum()) for n in np.unique(found)
        }
        assert [hub[ranking] for hub in seen["hubs"]] == sorted(found.tolist(), reverse=True)[:7]
        for hub in seen["hubs"]:
            row = words.row(hub["id"])
            assert (hub["raw"], hub["corrected"]) == tuple(counts[:, row].tolist())
            assert hub["offset"] == pytest.approx(words.offsets[row])
    never = (counts == 0).all(axis=0)
    assert answer["never"]["both"] == never.sum()
    assert answer["never"]["ids"] == words.ids(np.flatnonzero(never)[:7])
    assert answer["chance"]["antihub_share"] == pytest.approx((1 - K / counts.shape[1]) ** 90)
    assert answer["chance"]["most"] == by_chance(90, counts.shape[1]).most


def test_findings_are_the_bank_queries_that_find_the_target(http, words):
    sample = words.parts.bank_sample
    for text in ("a/b", "..", "target-7"):
        answer = http.get(f"{WORDS}/occurrence/queries", params={"id": text}).json()
        assert (answer["id"], answer["queries"]) == (text, len(sample))
        firsts = [line[0] for line in words.query(sample, K, 1.0).ids]
        for ranking, strength in (("raw", 0.0), ("corrected", 1.0)):
            expected = [
                {"query": query, "rank": line.index(text) + 1, "first": firsts[query]}
                for query, line in enumerate(words.query(sample, K, strength).ids)
                if text in line
            ]
            assert answer[ranking] == expected
    assert answer["raw"], "a hub is found"


def test_findings_of_a_number_and_of_no_target(http):
    path = "/v1/collections/numbers/occurrence/queries"
    assert http.get(path, params={"id": str(catalogs.LARGEST_ID)}).json()["id"] == catalogs.LARGEST_ID
    assert http.get(path, params={"id": "5"}).json()["code"] == "point_not_found"
    assert http.get(path).json()["parameter"] == "id"
    assert http.get(path, params={"id": "5", "x": 1}).json()["code"] == "unknown_field"


def test_version_without_counts_has_them_counted_over_the_bank_sample(words, serve):
    segment = replace(words.parts.targets.first, occurrence=None)
    uncounted = hubless.Collection(replace(words.parts, targets=Targets.of([segment], words.dim)))
    with serve({"words": uncounted}) as (client, _):
        answer = client.get(f"{WORDS}/occurrence").json()
    sample = words.parts.bank_sample
    rows = words.query(sample, K, 0.0).rows
    assert (answer["source"], answer["queries"], answer["held_out"]) == ("sample", len(sample), False)
    assert answer["raw"]["most"] == np.bincount(rows.ravel()).max()


def test_projection_has_the_principal_components_with_values_of_a_column(http, catalog, words):
    answer = http.get(f"{WORDS}/projection", params={"column": "title"}).json()
    drawn = vars(project(words.count, words.vectors, words.parts.bank_sample, words.parts.occurrence()))
    targets = answer["targets"]
    assert targets["id"] == words.ids(drawn["rows"])
    assert targets["x"] == pytest.approx(drawn["targets"][:, 0], abs=1e-5)
    assert answer["queries"]["y"] == pytest.approx(drawn["queries"][:, 1], abs=1e-5)
    assert (targets["raw"], targets["corrected"]) == tuple(stored(catalog)[:, drawn["rows"]].tolist())
    assert targets["value"][3] == words.payload([int(drawn["rows"][3])])[0]["title"]
    assert answer["count"] == words.count
    assert http.get(f"{WORDS}/projection").json()["targets"]["value"] is None


def test_projection_refuses_a_column_that_is_not_there(http):
    refused = http.get(f"{WORDS}/projection", params={"column": "1"}).json()
    assert (refused["code"], refused["parameter"], refused["received"]) == ("unknown_field", "column", "1")
    assert "none, as there is no payload" in http.get("/v1/collections/numbers/projection?column=x").text


@pytest.fixture(scope="module")
def two(catalog, tmp_path_factory):
    """A client of a server with two versions of words: the second has other targets, and no offsets."""
    path = shutil.copytree(catalog, tmp_path_factory.mktemp("two") / "catalog")
    data, payload = catalogs.words(), catalogs.payload()
    rng = np.random.default_rng(5)
    targets = np.concatenate([data.targets[3:], catalogs.unit(rng.normal(size=(2, catalogs.DIM)))])
    rows = [*payload[3:], *payload[:2]]
    ids = [*data.ids[3:], "new-1", "new-2"]
    hubless.build(path, "words", targets, data.query_bank, ids=ids, payload=rows, correction="none", progress=False)
    with serving_catalog(path) as base, httpx.Client(base_url=base) as client:
        yield client, hubless.Catalog(path).version_ids("words")


def test_diff_has_fields_ids_and_answers_of_canaries(two, contract):
    client, (old, new) = two
    answer = client.get(f"{WORDS}/versions/{new}/diff")
    contract.check(answer)
    found = answer.json()
    assert (found["since"], found["version"]) == (old, new)
    assert found["added"] == {"count": 2, "ids": ["new-1", "new-2"]}
    assert found["removed"] == {"count": 3, "ids": catalogs.words().ids[:3]}
    changed = {field["field"]: (field["before"], field["after"]) for field in found["fields"]}
    assert changed["count"] == (300, 299)
    assert changed["correction.name"] == ("auto", "none")
    assert len(found["canaries"]) == 16
    for canary in found["canaries"]:
        assert canary["kept"] == len(set(canary["before"]) & set(canary["after"]))
    assert any(canary["kept"] < K for canary in found["canaries"])


def test_diff_with_itself_is_empty_and_with_a_stranger_refused(two):
    client, (old, new) = two
    same = client.get(f"{WORDS}/versions/{new}/diff", params={"since": new}).json()
    assert (same["fields"], same["added"]["count"], same["removed"]["count"]) == ([], 0, 0)
    assert all(canary["kept"] == K for canary in same["canaries"])
    for answer in (
        client.get(f"{WORDS}/versions/{old}/diff"),
        client.get(f"{WORDS}/versions/{new}/diff", params={"since": "x"}),
        client.get(f"{WORDS}/versions/..%2fx/diff"),
        client.get(f"{WORDS}/versions/x"),
    ):
        assert answer.json()["code"] in ("version_not_found", "not_found")


def test_only_one_pair_is_compared_at_a_time(two):
    client, (_, new) = two
    with _comparing:
        refused = client.get(f"{WORDS}/versions/{new}/diff")
    assert code_of(refused) == (429, "too_many_requests")
    assert refused.headers["retry-after"]


def test_version_has_what_its_manifest_has(http, catalog, words):
    answer = http.get(f"{WORDS}/versions/{words.version}").json()
    manifest = words.manifest
    assert answer["bytes"] == sum(file.size for file in manifest.files.values())
    assert (answer["count"], answer["seed"]) == (manifest.count, manifest.provenance.seed)
    assert set(answer["inputs"]) == set(manifest.provenance.inputs)


def test_scan_is_the_one_that_was_kept_and_null_before(contract, tmp_path):
    catalog = catalogs.build(tmp_path)
    with serving_catalog(catalog) as base, contract.client(base) as http:
        assert http.get(f"{WORDS}/scan").json() == {"scan": None, "collection": "words"}
        scan = kept.scan_of_words(catalog)
        assert http.get(f"{WORDS}/scan").json()["scan"] == scan.model_dump()
        assert http.get("/v1/collections/nothing/scan").json()["code"] == "collection_not_found"
        hubless.Catalog(catalog).home("words").joinpath("scan.json").write_text("[]")
        assert http.get(f"{WORDS}/scan").json()["code"] == "bundle_damaged"
