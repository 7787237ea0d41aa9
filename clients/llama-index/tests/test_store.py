"""What the store does with nodes, alone and below an index."""

import asyncio
import pickle
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import ImageNode, IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from hubless_client import Client
from llama_index.vector_stores.hubless import HublessError, HublessVectorStore

PLANE = {"east": [1.0, 0.0], "near": [0.9, 0.1], "nearer": [0.95, 0.05], "north": [0.0, 1.0]}


class Table(BaseEmbedding):
    """Vectors that the test chooses."""

    def _get_query_embedding(self, query):
        return PLANE[query]

    async def _aget_query_embedding(self, query):
        return PLANE[query]

    def _get_text_embedding(self, text):
        return PLANE[text]


def node(name, document="book", **metadata):
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
    return TextNode(id_=name, text=name, embedding=PLANE[name], metadata=metadata, relationships=source)


@pytest.fixture
def plane(store):
    """Near, nearer and north, of two documents."""
    assert store.add([node("near", rank=0), node("nearer", rank=1), node("north", "film", rank=2, tags=["a"])]) == [
        "near",
        "nearer",
        "north",
    ]
    return store


def ids(nodes):
    return [each.node_id for each in nodes]


def ask(vector="east", count=3, **given):
    return VectorStoreQuery(query_embedding=PLANE[vector], similarity_top_k=count, **given)


def test_node_comes_back_as_it_was(plane):
    [found] = plane.get_nodes(["north"])
    assert found.embedding == PLANE["north"]
    assert found.model_dump() == node("north", "film", rank=2, tags=["a"]).model_dump()
    assert found.ref_doc_id == "film"


@pytest.mark.parametrize(
    "special",
    [
        ImageNode(id_="i", text="a boat", image_url="http://x/y.png", embedding=[1.0, 0.0]),
        IndexNode(id_="i", text="a part", index_id="whole", embedding=[1.0, 0.0]),
        TextNode(id_="i", text="", metadata={"empty": [], "deep": {"a": [1, None]}}, embedding=[1.0, 0.0]),
    ],
    ids=lambda special: special.class_name(),
)
def test_nodes_of_other_kinds_come_back_as_they_were(store, special):
    store.add([special])
    [found] = store.get_nodes(["i"])
    assert found.model_dump() == special.model_dump()
    assert type(found) is type(special)


def test_points_of_other_programs_are_text_nodes(plane):
    plane.client.put(plane.collection, ["foreign"], [[0.0, -1.0]], [{"text": "of others", "rank": 7}])
    [found] = plane.get_nodes(["foreign"])
    assert (found.text, found.metadata) == ("of others", {"rank": 7})


def test_query_gives_the_best_nodes_and_their_scores(plane):
    found = plane.query(ask(count=2))
    assert found.ids == ids(found.nodes) == ["nearer", "near"]
    assert found.similarities[0] == pytest.approx(0.95 / (0.95**2 + 0.05**2) ** 0.5, abs=1e-5)
    assert found.nodes[0].text == "nearer"


def test_query_searches_only_what_meets_its_conditions(plane):
    recent = MetadataFilters(filters=[MetadataFilter(key="rank", value=1, operator=">=")])
    assert plane.query(ask(filters=recent)).ids == ["nearer", "north"]
    assert plane.query(ask(doc_ids=["film"])).ids == ["north"]
    assert plane.query(ask(node_ids=["near", "north"])).ids == ["near", "north"]
    assert plane.query(ask(node_ids=["near", "north"], filters=recent)).ids == ["north"]


def test_store_comes_back_from_a_dict_and_from_a_pickle_without_its_key(plane, server):
    unpickled = pickle.loads(pickle.dumps(plane))  # noqa: S301
    for each in (plane, unpickled):
        again = HublessVectorStore.from_dict(each.to_dict(), api_key=server["api_key"])
        assert len(again.get_nodes()) == len(plane.get_nodes())
        again.close()
    assert server["api_key"] not in str(plane.to_dict())


def test_elements_of_a_text_are_an_error_and_no_empty_answer(store):
    store.add([TextNode(text="one", metadata={"title": "red car", "tags": ["red"]}, embedding=[1.0, 0.0])])

    def found(key):
        filters = MetadataFilters(filters=[MetadataFilter(key=key, value="car", operator=FilterOperator.CONTAINS)])
        return store.query(VectorStoreQuery(query_embedding=[1.0, 0.0], filters=filters)).nodes

    assert found("tags") == []
    with pytest.raises(HublessError, match="'title' is a text"):
        found("title")


def test_query_in_mode_mmr_leaves_out_a_near_copy(plane):
    diverse = ask(count=2, mode=VectorStoreQueryMode.MMR)
    assert plane.query(diverse, mmr_threshold=0.3).ids == ["nearer", "north"]
    assert plane.query(diverse, mmr_threshold=1).ids == ["nearer", "near"]
    assert plane.query(diverse, mmr_threshold=0, fetch_k=2).ids == ["nearer", "near"]
    assert plane.query(ask(count=2, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.3)).ids == ["nearer", "north"]


def test_query_passes_its_options_to_the_server(plane):
    assert plane.query(ask(), score_threshold=0.9).ids == ["nearer", "near"]
    with pytest.raises(HublessError, match="strength"):
        plane.query(ask(), strength="much")
    with pytest.raises(HublessError, match="scale_score: expected a query bank"):
        plane.query(ask(), scale_score=True)


def test_add_replaces_nodes_of_the_same_ids(plane):
    changed = TextNode(id_="near", text="changed", embedding=[0.0, 1.0])
    plane.add([changed])
    assert plane.get_nodes(["near"])[0].text == "changed"
    assert len(plane.get_nodes()) == 3


def test_many_nodes_go_in_several_requests(store):
    nodes = [TextNode(id_=f"n{row}", text=str(row), embedding=[1.0, float(row)]) for row in range(450)]
    store.add(nodes)
    assert len(store.get_nodes()) == 450
    assert len(store.get_nodes(ids(nodes))) == 450
    store.delete_nodes(ids(nodes)[:401])
    assert len(store.get_nodes()) == 49


def test_nodes_are_deleted_by_document_by_id_and_by_filter(plane):
    plane.delete("film")
    assert sorted(ids(plane.get_nodes())) == ["near", "nearer"]
    rank = MetadataFilters(filters=[MetadataFilter(key="rank", value=0)])
    plane.delete_nodes(["nearer"], rank)
    assert len(plane.get_nodes()) == 2
    plane.delete_nodes(filters=rank)
    plane.delete_nodes(["unknown"])
    assert ids(plane.get_nodes()) == ["nearer"]
    plane.clear()
    assert plane.get_nodes() == []
    assert plane.query(ask()).nodes == []


def test_async_methods_do_the_same(store):
    async def story():
        await store.async_add([node("near"), node("north", "film")])
        found = await store.aquery(ask(count=1))
        got = await store.aget_nodes(["north"])
        await store.adelete("film")
        await store.adelete_nodes(["unknown"])
        left = await store.aget_nodes()
        await store.aclear()
        cleared = await store.aget_nodes()
        await store.aclose()
        return found.ids, ids(got), ids(left), cleared

    for _ in range(2):  # in a new event loop each time
        assert asyncio.run(story()) == (["near"], ["north"], ["near"], [])


def test_index_retrieves_and_forgets_documents(store):
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=name, id_=f"of {name}", metadata={}) for name in ("near", "nearer", "north")]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=Table())
    retriever = index.as_retriever(similarity_top_k=2)
    assert [found.text for found in retriever.retrieve("east")] == ["nearer", "near"]
    assert [found.text for found in asyncio.run(retriever.aretrieve("east"))] == ["nearer", "near"]
    index.delete_ref_doc("of nearer")
    again = VectorStoreIndex.from_vector_store(store, embed_model=Table())
    assert [found.text for found in again.as_retriever(similarity_top_k=2).retrieve("east")] == ["near", "north"]


def test_nothing_to_delete_before_anything_is_added(store):
    store.delete("film")
    store.clear()
    assert store.add([]) == []
    with pytest.raises(HublessError, match="add documents first"):
        store.query(ask())


def test_embedding_of_another_dimension_is_named(plane):
    with pytest.raises(HublessError, match=r"expected 2.*got 3; use the embedding model"):
        plane.add([TextNode(id_="x", text="x", embedding=[1.0, 2.0, 3.0])])
    with pytest.raises(HublessError, match=r"2 dimensions.*use the embedding model"):
        plane.query(VectorStoreQuery(query_embedding=[1.0, 2.0, 3.0]))


def test_no_server_says_how_to_start_one():
    with pytest.raises(HublessError, match="hubless serve"):
        HublessVectorStore("x", url="http://127.0.0.1:9").query(ask())


def test_wrong_key_says_so(server):
    with pytest.raises(HublessError, match="give api_key"):
        HublessVectorStore("x", url=server["url"], api_key="wrong").clear()


@pytest.mark.parametrize(
    ("status", "body"), [(404, b'{"detail": "Not Found"}'), (405, b"{}"), (200, b"<html>hello</html>")]
)
def test_server_of_another_version_is_told(status, body):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        store = HublessVectorStore("x", url=f"http://127.0.0.1:{other.server_port}")
        with pytest.raises(HublessError, match="is there a hubless server of version"):
            store.get_nodes()
        store.close()
        other.shutdown()


def test_collection_of_other_ids_is_searched_but_not_written(store, server):
    with Client(server["url"], api_key=server["api_key"]) as client:
        client.create_collection(store.collection, 2, "cosine", "int64")
        client.put(store.collection, [7], [[1.0, 0.0]], [{"text": "seven"}])
    assert [(each.node_id, each.text) for each in store.query(ask()).nodes] == [("7", "seven")]
    with pytest.raises(HublessError, match=r"expected string ids.*got int64"):
        store.add([node("near")])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add([TextNode(text="a", metadata={"text": "b"}, embedding=[1.0, 2.0])]), "text_key"),
        (lambda store: store.add([TextNode(text="a")]), "embedding not set"),
        (lambda store: store.delete_nodes(), "clear deletes all"),
        (lambda store: store.query(ask(mode=VectorStoreQueryMode.HYBRID)), 'got "hybrid"'),
        (lambda store: store.query(VectorStoreQuery(query_str="a")), "query_embedding"),
    ],
)
def test_wrong_calls_are_refused_by_name(plane, call, message):
    with pytest.raises(ValueError, match=message):
        call(plane)


def cloud(count, seed, lean):
    """Random vectors around one direction, (count, 8): so some of them are hubs."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(count, 8)) + lean * rng.exponential(size=(count, 1))).tolist()


def test_query_bank_corrects_the_ranking(store):
    vectors, questions = cloud(150, 1, 1.0), cloud(320, 2, 0.8)
    store.add([TextNode(text=str(row), embedding=vector) for row, vector in enumerate(vectors)])
    assert store.add_query_bank(questions[:90]).queries == 90
    more = asyncio.run(store.aadd_query_bank(questions[90:]))
    assert (more.queries, more.correction, more.fitted) == (320, "auto", True)
    query = VectorStoreQuery(query_embedding=questions[0], similarity_top_k=150)
    corrected, raw = store.query(query), store.query(query, strength=0)
    assert sorted(corrected.ids) == sorted(raw.ids)
    assert corrected.similarities != pytest.approx(raw.similarities, abs=1e-4)
    scaled = store.query(query, scale_score=True).similarities
    assert 1 >= scaled[0] == max(scaled) > min(scaled) >= 0
    assert store.add_query_bank(questions[:100], replace=True).queries == 100


def test_query_bank_needs_queries_and_a_collection(plane, server):
    with pytest.raises(HublessError, match="100 and more"):
        plane.add_query_bank([])
    with pytest.raises(HublessError, match="add documents first"):
        HublessVectorStore("nowhere", **server).add_query_bank([[1.0, 2.0]])
