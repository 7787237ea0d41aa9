"""What the store does beyond LangChain's own tests."""

import asyncio
import pickle

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.exceptions import LangChainException

from hubless_client import Client
from hubless_client.diversity import diverse
from langchain_hubless import HublessError, HublessRetriever, HublessVectorStore


class Table(Embeddings):
    """Vectors that the test chooses, and a count of how they were asked for."""

    def __init__(self, **vectors):
        self.vectors = vectors
        self.asked = []

    def embed_documents(self, texts):
        self.asked.append("now")
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts):
        self.asked.append("later")
        return [self.vectors[text] for text in texts]

    async def aembed_query(self, text):
        return (await self.aembed_documents([text]))[0]


PLANE = {"east": [1.0, 0.0], "near": [0.9, 0.1], "nearer": [0.95, 0.05], "north": [0.0, 1.0], "dimension": [1.0, 1.0]}


@pytest.fixture
def plane(store):
    """East, near, nearer and north, with metadata."""
    store._embedding = Table(**PLANE)
    texts = ["near", "nearer", "north"]
    store.add_texts(texts, [{"rank": rank, "tags": ["a", rank]} for rank in range(3)], ids=texts)
    return store


def ids(documents):
    return [document.id for document in documents]


def test_metadata_comes_back_as_it_was(plane):
    [document] = plane.get_by_ids(["nearer"])
    assert document == Document(id="nearer", page_content="nearer", metadata={"rank": 1, "tags": ["a", 1]})


def test_scores_are_cosines_before_there_is_a_bank(plane):
    (first, score), *_ = plane.similarity_search_with_score("east", k=1)
    assert first.id == "nearer"
    assert score == pytest.approx(0.95 / np.hypot(0.95, 0.05), abs=1e-5)


def test_relevance_is_between_0_and_1_and_best_first(plane):
    found = plane.similarity_search_with_relevance_scores("east", k=3)
    relevance = [score for _, score in found]
    assert relevance == sorted(relevance, reverse=True)
    assert relevance[-1] == pytest.approx(0.5)
    assert asyncio.run(plane.asimilarity_search_with_relevance_scores("east", k=3)) == found


def test_relevance_is_the_share_of_the_confidence_once_there_is_a_bank(store):
    rng = np.random.default_rng(4)
    texts = [f"text {row}" for row in range(30)]
    questions = [f"question {row}" for row in range(60)]
    rows = dict(zip([*texts, *questions, "dimension"], rng.normal(size=(91, 8)).tolist(), strict=True))
    store._embedding = Table(**rows)
    store.add_texts(texts, ids=texts)
    store.add_query_bank(questions)
    hits = store._documents.clients.client.query(store.collection, rows["question 3"], limit=5)
    found = store.similarity_search_with_relevance_scores("question 3", k=5)
    assert [(document.id, share) for document, share in found] == [(hit.id, hit.share) for hit in hits]
    assert asyncio.run(store.asimilarity_search_with_relevance_scores("question 3", k=5)) == found
    cut = store.similarity_search_with_relevance_scores("question 3", k=5, score_threshold=found[1][1])
    assert cut == found[:2]
    retriever = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 1.0})
    assert store.similarity_search("question 3", min_confidence=1.0) == []
    with pytest.raises(HublessError, match="coverage: expected none, as confidence is not calibrated"):
        store.similarity_search("question 3", coverage=0.9)
    assert retriever.invoke("question 3") == []


def test_filter_searches_only_documents_that_meet_it(plane):
    assert ids(plane.similarity_search("east", filter={"field": "rank", "gte": 1})) == ["nearer", "north"]
    assert ids(plane.similarity_search("east", k=1, filter={"field": "tags", "contains": "a"})) == ["nearer"]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"rank": {"$gte": 1}}, ["nearer", "north"]),
        ({"rank": {"$gte": 1, "$lt": 2}}, ["nearer"]),
        ({"$or": [{"rank": {"$eq": 2}}, {"tags": {"$contains": 1}}]}, ["nearer", "north"]),
        ({"$and": [{"rank": {"$in": [0, 1]}}, {"rank": {"$ne": 0}}]}, ["nearer"]),
        ({"$not": {"rank": {"$lt": 2}}}, ["north"]),
        ({"rank": {"$between": [1, 2]}, "tags": {"$exists": True}}, ["nearer", "north"]),
        ({"not": {"rank": {"$nin": [2]}}}, ["north"]),
    ],
)
def test_filter_with_the_operators_of_langchain_is_taken(plane, filter, found):
    assert [name for name in ids(plane.similarity_search("east", filter=filter)) if name in found] == found
    assert set(ids(plane.similarity_search("east", filter=filter))) == set(found)


@pytest.mark.parametrize(
    ("filter", "words"),
    [
        ({"rank": {"$regex": "a"}}, r"\$eq, \$ne.*got '\$regex' of 'rank'"),
        (lambda document: True, "expected a dict.*function"),
        ({"rank": {"$between": 3}}, "two values"),
    ],
)
def test_filter_without_a_counterpart_is_refused_before_it_is_sent(plane, filter, words):
    with pytest.raises(HublessError, match=words):
        plane.similarity_search("east", filter=filter)


def test_filter_in_the_short_form_of_other_stores(store):
    store.add_texts([f"text {number}" for number in range(8)], [{"mod": number % 4} for number in range(8)])
    assert {found.metadata["mod"] for found in store.similarity_search("text 1", k=8, filter={"mod": 3})} == {3}


def test_only_adding_makes_the_collection(store, server):
    assert store.similarity_search("anything") == store.get_by_ids(["a"]) == []
    assert store.delete(["a"])
    with Client(server["url"], api_key=server["api_key"]) as client:
        assert store.collection not in [collection.name for collection in client.collections()]


def test_pickle_says_why_not(store):
    with pytest.raises(TypeError, match="open connections and a key"):
        pickle.dumps(store)


def test_search_by_vector(plane):
    assert ids(plane.similarity_search_by_vector([0.1, 1.0], k=2)) == ["north", "near"]


def test_diverse_search_leaves_out_a_near_copy(plane):
    assert ids(plane.max_marginal_relevance_search("east", k=2, lambda_mult=0.3)) == ["nearer", "north"]
    assert ids(plane.max_marginal_relevance_search("east", k=2, lambda_mult=1)) == ["nearer", "near"]
    assert ids(asyncio.run(plane.amax_marginal_relevance_search("east", k=2, lambda_mult=0.3))) == ["nearer", "north"]
    assert ids(plane.max_marginal_relevance_search_by_vector([1.0, 0.0], k=2, fetch_k=2, lambda_mult=0)) == [
        "nearer",
        "near",
    ]


def test_diverse_is_the_plain_formula():
    rng = np.random.default_rng(1)
    scores, vectors = rng.normal(size=12), rng.normal(size=(12, 4))
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = []
    for _ in range(5):
        left = [place for place in range(12) if place not in wanted]
        value = [0.4 * scores[i] - 0.6 * max((rows[i] @ rows[j] for j in wanted), default=0) for i in left]
        wanted.append(left[int(np.argmax(value))])
    assert diverse(scores, vectors, 5, 0.4) == wanted


def test_delete_by_filter_and_delete_all(plane):
    plane.delete(filter={"field": "rank", "eq": 0})
    assert ids(plane.similarity_search("east")) == ["nearer", "north"]
    plane.delete()
    assert plane.similarity_search("east") == []


def test_async_methods_use_the_async_embedding(store):
    store._embedding = Table(**PLANE)

    async def story():
        await store.aadd_texts(["near", "north"], ids=["near", "north"])
        found = await store.asimilarity_search("east", k=1)
        got = await store.aget_by_ids(["north"])
        await store.adelete(["near"])
        return found, got, await store.asimilarity_search("east", k=1)

    found, got, after = asyncio.run(story())
    assert (ids(found), ids(got), ids(after)) == (["near"], ["north"], ["north"])
    assert set(store._embedding.asked) == {"later"}


def test_store_serves_several_event_loops(plane):
    for _ in range(2):
        assert ids(asyncio.run(plane.asimilarity_search("east", k=1))) == ["nearer"]


def test_many_texts_go_in_several_requests(store):
    texts = [f"text {number}" for number in range(450)]
    given = store.add_texts(texts)
    assert len(set(given)) == 450
    assert sorted(document.page_content for document in store.get_by_ids(given)) == sorted(texts)
    assert len(ids(store.similarity_search("text 7", k=450))) == 450


def test_from_texts_makes_the_collection(server, store):
    other = HublessVectorStore.from_texts(
        ["a", "b"],
        DeterministicFakeEmbedding(size=6),
        [{"x": 1}, {}],
        ids=["1", "2"],
        collection=store.collection,
        **server,
    )
    assert other.get_by_ids(["1"]) == [Document(id="1", page_content="a", metadata={"x": 1})]


def test_retriever_takes_filter_and_options_of_an_invocation(plane):
    retriever = HublessRetriever(store=plane, k=2, filter={"field": "rank", "lt": 2})
    assert ids(retriever.invoke("east")) == ["nearer", "near"]
    assert ids(retriever.invoke("east", filter={"field": "rank", "eq": 2})) == ["north"]
    assert ids(asyncio.run(retriever.ainvoke("east", k=1))) == ["nearer"]
    assert ids(plane.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0.3}).invoke("east")) == [
        "nearer",
        "north",
    ]


def test_embedding_of_another_dimension_is_named(plane, server):
    other = HublessVectorStore(DeterministicFakeEmbedding(size=7), plane.collection, **server)
    with pytest.raises(HublessError, match=r"2 dimensions.*use the embedding model"):
        other.similarity_search("east")
    with pytest.raises(HublessError, match="use the embedding model"):
        other.add_texts(["a"])


def test_no_server_says_how_to_start_one():
    nowhere = HublessVectorStore(DeterministicFakeEmbedding(size=6), "x", url="http://127.0.0.1:9")
    with pytest.raises(LangChainException, match="hubless serve"):
        nowhere.similarity_search("a")


def test_wrong_key_says_so(server):
    stranger = HublessVectorStore(DeterministicFakeEmbedding(size=6), "x", url=server["url"], api_key="wrong")
    with pytest.raises(HublessError, match="give api_key"):
        stranger.similarity_search("a")


def test_collection_of_other_ids_refuses_texts_by_name(store, server):
    with Client(server["url"], api_key=server["api_key"]) as client:
        client.create_collection(store.collection, 6, "cosine", "int64")
    with pytest.raises(HublessError, match="id"):
        store.add_texts(["a"], ids=["one"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add_texts(["a"], [{"page_content": "b"}]), "page_content"),
        (lambda store: store.add_texts(["a"], [{}, {}]), "metadatas: expected 1"),
        (lambda store: store.add_texts(["a"], ids=["1", "2"]), "ids: expected 1"),
        (lambda store: store.delete(["1"], filter={"field": "a", "eq": 1}), "either ids or a filter"),
        (lambda store: store.add_texts(["a"]) and store.similarity_search("a", filter={"field": "a"}), "filter"),
    ],
)
def test_wrong_calls_are_refused_by_name(store, call, message):
    with pytest.raises(HublessError, match=message):
        call(store)


class Cloud(Embeddings):
    """Random vectors around one direction, for documents and for queries: so some documents are hubs."""

    def embed_documents(self, texts):
        return [self._vector(text, 1.0) for text in texts]

    def embed_query(self, text):
        return self._vector(text, 0.8)

    def _vector(self, text, lean):
        rng = np.random.default_rng([ord(letter) for letter in text])
        return (rng.normal(size=8) + lean * rng.exponential() * np.ones(8)).tolist()


def test_query_bank_corrects_the_ranking(store):
    store._embedding = Cloud()
    store.add_texts([f"document {number}" for number in range(150)])
    bank = store.add_query_bank(f"question {number}" for number in range(90))
    assert (bank.queries, bank.correction) == (90, "auto")
    assert bank.fitted
    more = asyncio.run(store.aadd_query_bank(f"question {number}" for number in range(90, 320)))
    assert more.queries == 320
    assert more.fitted
    hits = store.similarity_search_with_score("question 1000", k=150)
    raw = store.similarity_search_with_score("question 1000", k=150, strength=0.0)
    assert sorted(document.id for document, _ in hits) == sorted(document.id for document, _ in raw)
    assert [score for _, score in hits] != pytest.approx([score for _, score in raw], abs=1e-4)


def test_empty_query_bank_is_refused(store):
    with pytest.raises(HublessError, match="100 and more"):
        store.add_query_bank([])
