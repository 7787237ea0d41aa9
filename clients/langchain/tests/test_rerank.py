"""Reranking around LangChain's own in-memory store, and around a retriever whose documents have scores."""

from types import SimpleNamespace

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hubless import HublessRerank

OFFSETS = {"hub": 0.5}


class Axes(Embeddings):
    """A text is the numbers that it has."""

    def embed_documents(self, texts):
        return [[float(each) for each in text.split()] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Correction:
    """Subtracts offsets, as a correction that the log of a search has taught, which this environment lacks."""

    def __init__(self):
        self.asked = []

    def rerank(self, ids, scores, *, limit):
        self.asked.append(len(ids))
        less = {each: score - OFFSETS.get(each, 0.0) for each, score in zip(ids, scores, strict=True)}
        best = sorted(less, key=lambda each: -less[each])[:limit]
        return SimpleNamespace(ids=best, scores=[less[each] for each in best])

    def accept(self, ids, scores, accuracy):
        return accuracy < 0.95


@pytest.fixture
def store():
    made = InMemoryVectorStore(Axes())
    made.add_documents([Document("1 0", id="hub"), Document("4 3", id="right"), Document("0 1", id="far")])
    return made


async def test_vector_store_answers_in_the_corrected_order(store):
    correction = Correction()
    reranked = HublessRerank(retriever=store, correction=correction, k=2)
    for found in (reranked.invoke("1 0"), await reranked.ainvoke("1 0")):
        assert [each.id for each in found] == ["right", "hub"]
        assert [each.metadata["score"] for each in found] == pytest.approx([0.8, 0.5])
    assert correction.asked == [3, 3]
    assert [each.metadata for each in store.similarity_search("1 0")] == [{}, {}, {}]
    few = HublessRerank(retriever=store, correction=correction, candidates=1, k=1)
    assert [each.id for each in few.invoke("1 0")] == ["hub"]


def test_answer_is_empty_where_the_promise_is_not_kept(store):
    assert HublessRerank(retriever=store, correction=Correction(), accuracy=0.9).invoke("1 0")
    assert HublessRerank(retriever=store, correction=Correction(), accuracy=0.99).invoke("1 0") == []


class Scored(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        scores = {"hub": 0.9, "right": 0.6}
        return [Document(each, metadata={"key": each, "score": score}) for each, score in scores.items()]


def test_retriever_brings_ids_and_scores_in_the_metadata():
    found = HublessRerank(retriever=Scored(), correction=Correction(), id="key").invoke("any")
    assert [each.page_content for each in found] == ["right", "hub"]
    with pytest.raises(ValueError, match="id: expected documents with an id, as the log"):
        HublessRerank(retriever=Scored(), correction=Correction()).invoke("any")
