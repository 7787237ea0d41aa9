"""What the store and the retriever do beyond Haystack's own tests."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from haystack_integrations.components.retrievers.hubless import HublessEmbeddingRetriever
from haystack_integrations.document_stores.hubless import HublessDocumentStore, HublessError

PLANE = {"near": [0.9, 0.1], "nearer": [0.95, 0.05], "north": [0.0, 1.0]}
EAST = [1.0, 0.0]


@pytest.fixture
def plane(new_store):
    """Near, nearer and north, and one document without an embedding."""
    store = new_store(embedding_dim=2)
    documents = [
        Document(id=name, content=name, embedding=embedding, meta={"rank": rank})
        for rank, (name, embedding) in enumerate(PLANE.items())
    ]
    store.write_documents([*documents, Document(id="nowhere", content="nowhere", meta={"rank": 3})])
    return store


def ids(found):
    return [document.id for document in found["documents"]]


def test_document_comes_back_whole(new_store):
    store = new_store(embedding_dim=2, metric="dot")
    document = Document(
        content="a boat",
        blob=ByteStream(b"\x00\xff", meta={"from": "camera"}, mime_type="image/png"),
        meta={"deep": {"list": [1, None, {"a": 2.5}]}, "content": "of its own", "nothing": None},
        embedding=[3.0, -4.0],
        sparse_embedding=SparseEmbedding(indices=[3, 70], values=[0.5, 0.25]),
    )
    bare = Document(id="bare")
    store.write_documents([document, bare])
    assert store.filter_documents({"field": "id", "operator": "==", "value": document.id}) == [document]
    assert store.filter_documents({"field": "id", "operator": "==", "value": "bare"}) == [bare]


def test_points_of_other_programs_are_documents(plane, client):
    client.put(plane.collection, ["foreign"], [[0.0, -1.0]], [{"content": "of others", "year": 7}])
    found = plane._embedding_retrieval([0.0, -1.0], top_k=1)
    assert [(each.id, each.content, each.meta) for each in found] == [("foreign", "of others", {"year": 7})]


def test_same_id_twice_in_one_call_follows_the_policy(new_store):
    store = new_store(embedding_dim=2)
    twice = [Document(id="1", content="first"), Document(id="1", content="second")]
    with pytest.raises(DuplicateDocumentError, match="'1'"):
        store.write_documents(twice)
    assert store.count_documents() == 0
    assert store.write_documents(twice, DuplicatePolicy.SKIP) == 1
    assert store.filter_documents()[0].content == "first"
    assert store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 2
    assert store.filter_documents()[0].content == "second"


def test_skip_writes_what_is_new_and_leaves_what_is_there(plane):
    given = [Document(id="near", content="changed"), Document(id="new", content="new")]
    assert plane.write_documents(given, DuplicatePolicy.SKIP) == 1
    contents = {document.id: document.content for document in plane.filter_documents()}
    assert (contents["near"], contents["new"]) == ("near", "new")


def test_many_documents_go_in_several_requests(new_store):
    store = new_store(embedding_dim=2)
    documents = [Document(id=f"d{row}", meta={"odd": row % 2}, embedding=[1.0, row]) for row in range(450)]
    assert store.write_documents(documents) == 450
    odd = {"field": "meta.odd", "operator": "==", "value": 1}
    assert store.update_by_filter(odd, {"seen": True}) == 225
    assert len(store.filter_documents({"field": "meta.seen", "operator": "==", "value": True})) == 225
    store.delete_documents([document.id for document in documents[:401]])
    assert store.count_documents() == 49


def test_retriever_ranks_searches_and_gives_what_is_asked(plane):
    retriever = HublessEmbeddingRetriever(plane, top_k=2)
    found = retriever.run(EAST)
    assert ids(found) == ["nearer", "near"]
    assert found["documents"][0].score == pytest.approx(0.95 / (0.95**2 + 0.05**2) ** 0.5, abs=1e-5)
    assert found["documents"][0].embedding is None
    assert ids(retriever.run(EAST, top_k=9)) == ["nearer", "near", "north"]
    assert ids(retriever.run(EAST, score_threshold=0.995)) == ["nearer"]
    with pytest.raises(HublessError, match="scale_score: expected a query bank"):
        retriever.run(EAST, scale_score=True)
    assert ids(retriever.run(EAST, filters={"field": "meta.rank", "operator": ">=", "value": 2})) == ["north"]
    assert retriever.run([0.0, 2.0], return_embedding=True)["documents"][0].embedding == [0.0, 1.0]
    assert ids(asyncio.run(retriever.run_async(EAST))) == ["nearer", "near"]


def test_filters_of_a_run_replace_those_of_the_retriever_or_are_merged(plane):
    low = {"field": "meta.rank", "operator": "<=", "value": 1}
    near = {"field": "content", "operator": "!=", "value": "nearer"}
    assert ids(HublessEmbeddingRetriever(plane, filters=low).run(EAST)) == ["nearer", "near"]
    assert ids(HublessEmbeddingRetriever(plane, filters=low).run(EAST, filters=near)) == ["near", "north"]
    merging = HublessEmbeddingRetriever(plane, filters=low, filter_policy="merge")
    assert ids(merging.run(EAST, filters=near)) == ["near"]


def test_strength_of_a_run_goes_before_the_retriever_s_and_the_store_s(plane, monkeypatch):
    asked = []
    monkeypatch.setattr(plane, "_embedding_retrieval", lambda _, **options: asked.append(options["strength"]) or [])
    retriever = HublessEmbeddingRetriever(plane, strength=0.5)
    retriever.run(EAST)
    retriever.run(EAST, strength=0)
    assert asked == [0.5, 0]
    monkeypatch.undo()
    plane.strength = -1  # the server refuses it, so it was sent
    with pytest.raises(HublessError, match="strength"):
        HublessEmbeddingRetriever(plane).run(EAST)
    assert ids(HublessEmbeddingRetriever(plane).run(EAST, strength=0, top_k=1)) == ["nearer"]


def test_pipeline_is_stored_and_loaded_without_a_key(plane):
    filters = {"field": "meta.rank", "operator": "<", "value": 2}
    pipeline = Pipeline()
    pipeline.add_component("retriever", HublessEmbeddingRetriever(plane, filters=filters, top_k=1, strength=0.25))
    stored = pipeline.dumps()
    assert "key-of" not in stored
    again = Pipeline.loads(stored)
    assert again.dumps() == stored
    given = {"retriever": {"query_embedding": EAST}}
    assert ids(again.run(given)["retriever"]) == ["nearer"]
    assert ids(asyncio.run(again.run_async(given))["retriever"]) == ["nearer"]


def test_key_in_the_program_is_not_stored(server):
    store = HublessDocumentStore("x", url=server["url"], api_key=Secret.from_token("key"))
    with pytest.raises(ValueError, match="token"):
        store.to_dict()


def test_store_serves_several_event_loops(plane):
    async def story():
        count = await plane.count_documents_async()
        await plane.close_async()
        return count

    assert [asyncio.run(story()) for _ in range(2)] == [4, 4]


def test_metadata_within_objects_is_found(new_store):
    store = new_store(embedding_dim=2)
    store.write_documents([Document(id=str(number), meta={"who": {"age": number}, "mixed": "a"}) for number in (9, 10)])
    store.write_documents([Document(id="mixed", meta={"mixed": 1})])
    assert store.get_metadata_field_min_max("meta.who.age") == {"min": 9, "max": 10}
    assert store.get_metadata_fields_info() == {"who": {"type": "object"}, "mixed": {"type": "keyword"}}
    with pytest.raises(ValueError, match="compared with each other"):
        store.get_metadata_field_min_max("mixed")


def test_embedding_of_another_dimension_is_named(plane):
    other = HublessDocumentStore(plane.collection, url=plane.url, api_key=plane.api_key, embedding_dim=3)
    with pytest.raises(HublessError, match=r"expected 2.*got 3; use the embedding model"):
        other.count_documents()
    with pytest.raises(HublessError, match="use the embedding model"):
        plane.write_documents([Document(embedding=[1.0, 2.0, 3.0])])
    with pytest.raises(HublessError, match="use the embedding model"):
        HublessEmbeddingRetriever(plane).run([1.0, 2.0, 3.0])


def test_no_server_says_how_to_start_one():
    nowhere = HublessDocumentStore("x", url="http://127.0.0.1:9", timeout=5)
    with pytest.raises(DocumentStoreError, match="hubless serve"):
        nowhere.count_documents()


def test_wrong_key_says_so(server):
    with pytest.raises(HublessError, match="give api_key"):
        HublessDocumentStore("x", url=server["url"], api_key=Secret.from_token("wrong")).count_documents()


def test_server_of_another_version_is_told():
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        store = HublessDocumentStore("x", url=f"http://127.0.0.1:{other.server_port}")
        with pytest.raises(HublessError, match="is there a hubless server of version"):
            store.filter_documents()
        store.close()
        other.shutdown()


def test_collection_of_other_ids_is_searched_but_not_written(new_store, client):
    store = new_store(embedding_dim=2)
    client.create_collection(store.collection, 2, "cosine", "int64")
    client.put(store.collection, [7], [EAST], [{"content": "seven"}])
    assert [(each.id, each.content) for each in store._embedding_retrieval(EAST)] == [("7", "seven")]
    with pytest.raises(HublessError, match=r"expected string ids.*got int64"):
        store.write_documents([Document(content="a")])


@pytest.mark.parametrize(
    ("documents", "message"),
    [("a", "expected a list of Documents, got str"), ([Document(content="a"), "b"], r"documents\[1\]: .* got str")],
)
def test_what_is_no_document_is_refused_by_name(new_store, documents, message):
    with pytest.raises(ValueError, match=message):
        new_store().write_documents(documents)


def test_metadata_that_json_cannot_say_is_refused(plane):
    with pytest.raises(HublessError, match="number that JSON can carry"):
        plane.write_documents([Document(meta={"number": float("nan")})])


def test_retriever_needs_a_store_of_hubless():
    with pytest.raises(ValueError, match="expected a HublessDocumentStore, got str"):
        HublessEmbeddingRetriever("recipes")


def cloud(count, seed, lean):
    """Random vectors around one direction, (count, 8): so some of them are hubs."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(count, 8)) + lean * rng.exponential(size=(count, 1))).tolist()


def test_query_bank_corrects_the_ranking(new_store):
    store = new_store(embedding_dim=8)
    vectors, questions = cloud(150, 1, 1.0), cloud(320, 2, 0.8)
    store.write_documents([Document(content=str(row), embedding=vector) for row, vector in enumerate(vectors)])
    assert store.add_query_bank(questions[:90]).queries == 90
    more = asyncio.run(store.add_query_bank_async(questions[90:]))
    assert (more.queries, more.correction, more.fitted) == (320, "auto", True)
    retriever = HublessEmbeddingRetriever(store, top_k=150)
    corrected, raw = retriever.run(questions[0]), retriever.run(questions[0], strength=0)
    assert sorted(ids(corrected)) == sorted(ids(raw))
    assert [each.score for each in corrected["documents"]] != pytest.approx(
        [each.score for each in raw["documents"]], abs=1e-4
    )
    scaled = [each.score for each in retriever.run(questions[0], scale_score=True)["documents"]]
    assert 1 >= scaled[0] == max(scaled) > min(scaled) >= 0
    with pytest.raises(HublessError, match="100 and more"):
        store.add_query_bank([])
