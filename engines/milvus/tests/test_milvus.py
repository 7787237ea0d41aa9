"""Versions whose vectors lie in Milvus: they answer as those in a Faiss index do."""

import numpy as np
import pytest
from support import small

import hubless
from hubless.deadline import within
from hubless.errors import EngineError, EngineTimeout, EngineUnavailable, InputError
from hubless.knn.augment import folded_queries
from hubless.store import bundle
from hubless_milvus.names import alias_name, collection_name
from hubless_milvus.server import Server

QUERIES = small.vectors(6, 7)
TEXTS = {"field": "title", "gte": "title 3"}


@pytest.fixture(scope="module")
def catalog(milvus, tmp_path_factory):
    """A catalog with the same collection three times. Do not change it."""
    home = tmp_path_factory.mktemp("engines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUBLESS_MILVUS_URI", milvus.uri)
        for name, options in {
            "faiss": {},
            "flat": {"engine": "milvus", "index": "flat"},
            "graph": {"engine": "milvus", "index": "hnsw"},
        }.items():
            small.build_full(home, name, correction="auto", **options)
    return home


@pytest.fixture(autouse=True)
def _environment(milvus, monkeypatch):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", milvus.uri)


def opened(catalog, name):
    return hubless.open(catalog, name)


def same(one, other, exact=True):
    """Whether two answers have the same hits, with the same numbers."""
    for ours, theirs in zip(one, other, strict=True):
        if exact:
            assert [hit.id for hit in ours] == [hit.id for hit in theirs]
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-5)
        assert [hit.offset for hit in ours] == pytest.approx([hit.offset for hit in theirs], abs=1e-6)


@pytest.mark.parametrize("name", ["flat", "graph"])
@pytest.mark.parametrize("strength", [0.0, 1.0, 2.0])
def test_milvus_gives_the_hits_of_faiss_at_any_strength(catalog, name, strength):
    known = opened(catalog, "faiss").query(QUERIES, limit=7, strength=strength)
    same(opened(catalog, name).query(QUERIES, limit=7, strength=strength), known)


@pytest.mark.parametrize(
    "filter",
    [
        pytest.param(TEXTS, id="range"),
        pytest.param({"field": "title", "eq": "title 7"}, id="one"),
        pytest.param({"field": "tags", "contains": 3}, id="list"),
        pytest.param({"not": TEXTS}, id="not", marks=pytest.mark.nullable),
    ],
)
def test_filters_select_the_targets_that_they_do_with_faiss(catalog, filter, monkeypatch):
    known = opened(catalog, "faiss").query(QUERIES, limit=5, filter=filter)
    same(opened(catalog, "flat").query(QUERIES, limit=5, filter=filter), known)  # named one by one
    monkeypatch.setattr("hubless_milvus.expressions.FEW", 0)
    same(opened(catalog, "flat").query(QUERIES, limit=5, filter=filter), known)  # found by Milvus


def test_more_matches_than_one_expression_names_are_all_searched(catalog, monkeypatch):
    monkeypatch.setattr("hubless_milvus.expressions.LISTED", 7)
    known = opened(catalog, "faiss").query(QUERIES, limit=12, filter=TEXTS)
    same(opened(catalog, "flat").query(QUERIES, limit=12, filter=TEXTS), known)


def test_wrong_translation_is_noticed_and_the_matches_are_named(catalog, monkeypatch, caplog):
    monkeypatch.setattr("hubless_milvus.expressions.FEW", 0)
    monkeypatch.setattr("hubless_milvus.expressions.translate", lambda *_: "row >= 0")
    known = opened(catalog, "faiss").query(QUERIES, limit=5, filter=TEXTS)
    same(opened(catalog, "flat").query(QUERIES, limit=5, filter=TEXTS), known)
    assert "do not meet the filter" in caplog.text


def test_hits_that_a_walk_missed_under_a_filter_are_compared(catalog, monkeypatch):
    target = opened(catalog, "graph")
    index = target.parts.targets.first.index
    real = index._found

    def short(asked, k, parameters, expression):
        scores, rows = real(asked, k, parameters, expression)
        scores[:, k // 2 :], rows[:, k // 2 :] = -np.inf, -1
        return scores, rows

    object.__setattr__(index, "_found", short)
    known = opened(catalog, "faiss").query(QUERIES, limit=6, filter=TEXTS)
    same(target.query(QUERIES, limit=6, filter=TEXTS), known)


def test_added_and_removed_targets_count_as_with_faiss(catalog):
    found = []
    for name in ("faiss", "flat"):
        index = opened(catalog, name)
        first = [hit.id for hit in index.query(QUERIES, limit=3)[0]]
        index.remove(first)
        index.add(small.vectors(5, 99), ids=[f"more-{row}" for row in range(5)], payload=[{"title": "title 4"}] * 5)
        found.append([index.query(QUERIES, limit=9), index.query(QUERIES, limit=9, filter=TEXTS)])
        assert not set(first) & {hit.id for hits in found[-1][0] for hit in hits}
    for known, ours in zip(*found, strict=True):
        same(ours, known)


def test_points_give_the_vectors_that_were_built(catalog):
    known, ours = opened(catalog, "faiss"), opened(catalog, "flat")
    rows = np.array([39, 0, 3, 3, 17])
    assert np.array_equal(ours.parts.targets.vectors(rows), known.parts.targets.vectors(rows))
    same(ours.query(ids=["target-9"], limit=4), known.query(ids=["target-9"], limit=4))


@pytest.mark.parametrize("correction", ["dis", "sinkhorn", "csls"])
def test_gates_and_rescoring_rank_as_with_faiss(tmp_path, correction):
    for name, engine in (("ours", "milvus"), ("known", "faiss")):
        small.build(tmp_path, name, correction=correction, engine=engine)
    same(opened(tmp_path, "ours").query(QUERIES), opened(tmp_path, "known").query(QUERIES))


def test_canaries_pass_and_notice_a_changed_vector(tmp_path, milvus):
    made = small.build(tmp_path, "canaries", engine="milvus", index="hnsw")
    index = opened(tmp_path, "canaries")
    index.check_canaries()
    row = int(index.query(small.query_bank()[:1], limit=1)[0][0].row)
    everything = [
        {"row": row, "vector": [9.0] * (small.DIM + 1), "id": row, "offset": 0.0} for row in range(row, row + 1)
    ]
    milvus.client.upsert(made.index.engine.name, everything)
    with pytest.raises(hubless.HublessError, match="canary"):
        opened(tmp_path, "canaries").check_canaries()


def test_manifest_says_where_the_vectors_are(catalog):
    made = hubless.Catalog(catalog).versions("graph")[0].manifest
    assert (made.index.type, made.index.engine.kind) == ("milvus", "hnsw")
    assert made.index.parameters["ef"] in (16, 32, 64)
    assert [(each.name, each.index) for each in made.segments] == [(made.version, "milvus")]
    assert not list((catalog / "graph").rglob(bundle.INDEX))


def test_token_stands_in_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HUBLESS_MILVUS_TOKEN", "root:secretsecret")
    small.build(tmp_path, "secret", engine="milvus")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"secretsecret" in path.read_bytes()]
    assert "secretsecret" not in repr(Server.of_environment())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"index": "fastscan"}, "index: expected auto or one of flat, hnsw"),
        ({"memory": "1GB"}, "memory: expected none, as the engine is milvus"),
        ({"latency": "1ms"}, "latency: expected none, as the engine is milvus"),
        ({"shard_targets": 2000}, "shard_targets: expected none, as the engine is milvus"),
    ],
)
def test_build_for_milvus_refuses_what_is_for_faiss(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        small.build(tmp_path, engine="milvus", **options)


def test_unknown_engine_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"engine: expected faiss, or .* \(pip install hubless-redis\), got 'redis'"):
        small.build(tmp_path, engine="redis")


@pytest.mark.parametrize("uri", ["localhost:19530", "ftp://host", "http://", "http://host:99999"])
def test_address_that_is_none_is_refused_and_says_where_it_comes_from(tmp_path, monkeypatch, uri):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", uri)
    with pytest.raises(InputError, match="HUBLESS_MILVUS_URI"):
        small.build(tmp_path, engine="milvus")


def test_password_in_the_address_is_refused_without_repeating_it(monkeypatch):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", "http://root:secretsecret@localhost:19530")
    with pytest.raises(InputError, match="HUBLESS_MILVUS_TOKEN") as refused:
        Server.of_environment()
    assert "secretsecret" not in str(refused.value)


def test_token_is_read_from_a_file(tmp_path):
    (tmp_path / "token").write_text("root:word\n")
    known = {"HUBLESS_MILVUS_URI": "http://milvus:19530", "HUBLESS_MILVUS_TOKEN_FILE": str(tmp_path / "token")}
    assert Server.of_environment(known).token == "root:word"  # noqa: S105
    with pytest.raises(InputError, match="none beside HUBLESS_MILVUS_TOKEN_FILE"):
        Server.of_environment(known | {"HUBLESS_MILVUS_TOKEN": "other"})


def test_limit_and_exact_that_milvus_does_not_have_are_refused(catalog):
    with pytest.raises(InputError, match=r"parameters.exact: expected none, as the engine is milvus with index hnsw"):
        opened(catalog, "graph").query(QUERIES, parameters={"exact": True})
    same(opened(catalog, "flat").query(QUERIES, parameters={"exact": True}), opened(catalog, "faiss").query(QUERIES))
    targets = opened(catalog, "graph").parts.targets
    with pytest.raises(InputError, match="at most 16,384 hits"):
        targets.first.index.find(folded_queries(QUERIES, 1.0), 16_385, {"ef": 16}, None)
    with pytest.raises(InputError, match="one of ef, as the index is hnsw of Milvus"):
        opened(catalog, "graph").query(QUERIES, parameters={"nprobe": 3})


def test_lost_collection_is_named(tmp_path, milvus):
    made = small.build(tmp_path, "lost", engine="milvus")
    milvus.client.drop_collection(made.index.engine.name)
    with pytest.raises(EngineError, match=f"has no collection {made.index.engine.name}"):
        opened(tmp_path, "lost")


def test_collection_with_fewer_vectors_is_refused(tmp_path, milvus):
    made = small.build(tmp_path, "fewer", engine="milvus")
    milvus.client.delete(made.index.engine.name, ids=[3])
    with pytest.raises(EngineError, match="holds 39 vectors, and not 40"):
        opened(tmp_path, "fewer")


def test_collection_of_somebody_else_is_refused(tmp_path, milvus):
    made = small.build(tmp_path, "theirs", engine="milvus")
    name, client = made.index.engine.name, milvus.client
    client.drop_collection(name)
    client.create_collection(name, small.DIM + 1)
    with pytest.raises(EngineError, match="was not made by hubless"):
        opened(tmp_path, "theirs")


def test_dead_milvus_is_unavailable_and_says_where_it_was_sought(catalog, monkeypatch):
    monkeypatch.setenv("HUBLESS_MILVUS_URI", "http://127.0.0.1:1")
    with pytest.raises(EngineUnavailable, match=r"Milvus at http://127.0.0.1:1 cannot be reached"):
        opened(catalog, "flat")


def test_call_without_time_left_is_not_made(catalog):
    index = opened(catalog, "flat")
    with within(0), pytest.raises(EngineTimeout):
        index.query(QUERIES)
    with within(60), within(0), pytest.raises(EngineTimeout):
        index.query(QUERIES)
    assert len(index.query(QUERIES)) == len(QUERIES)


def test_build_that_fails_leaves_nothing_in_milvus(tmp_path, milvus, monkeypatch):
    def broken(*_, **options):
        raise RuntimeError("no room")

    before = set(milvus.client.list_collections())
    monkeypatch.setattr("hubless.builder.pipeline.publishing.described", broken)
    with pytest.raises(RuntimeError, match="no room"):
        small.build(tmp_path, "failing", engine="milvus")
    assert set(milvus.client.list_collections()) == before


def test_names_in_milvus_never_meet():
    version = "20260102T030405678901-abcdef"
    names = ["a-b", "a_b", "a--b", "A-b", "a_b_c8687a08", "photos", f"photos_{version.replace('-', '_')}", "0"]
    names.append(alias_name("a-b").removeprefix("hubless_"))  # as if somebody had guessed it
    found = {kind(name) for name in names for kind in (alias_name, lambda each: collection_name(each, version))}
    assert len(found) == 2 * len(names)
    assert all(name.isascii() and name.replace("_", "a").isalnum() and name[0].isalpha() for name in found)
    assert max(map(len, (alias_name("x" * 64), collection_name("-" * 64, version)))) <= 255
