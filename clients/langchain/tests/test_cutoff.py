"""The cutoff around LangChain's own in-memory store, and around a retriever whose documents have scores."""

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_hubless import HublessCutoff


class Axes(Embeddings):
    """A text is the numbers that it has."""

    def embed_documents(self, texts):
        return [[float(each) for each in text.split()] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Lead:
    """Accepts what is far enough ahead; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def accept(self, scores, accuracy):
        self.asked.append((scores, accuracy))
        return scores[0] - scores[1] > 0.2


@pytest.fixture
def store():
    made = InMemoryVectorStore(Axes())
    made.add_texts(["1 0", "0 1", *[f"1 {one + 5}" for one in range(12)]])
    return made


async def test_vector_store_answers_where_the_cut_is_reached_and_else_nothing(store):
    cut = Lead()
    cutoff = HublessCutoff(retriever=store, cut=cut, accuracy=0.95, k=2)
    assert [found.page_content for found in cutoff.invoke("1 0")] == ["1 0", "1 5"]
    assert cutoff.invoke("0 1") == []
    assert [len(scores) for scores, _ in cut.asked] == [11, 11]
    assert {accuracy for _, accuracy in cut.asked} == {0.95}
    expected = [score for _, score in store.similarity_search_with_score("1 0", k=11)]
    np.testing.assert_allclose(cut.asked[0][0], expected)
    assert [found.page_content for found in await cutoff.ainvoke("1 0")] == ["1 0", "1 5"]
    assert await cutoff.ainvoke("0 1") == []


class Scored(BaseRetriever):
    named: str = "score"

    def _get_relevant_documents(self, query, *, run_manager):
        first = float(query)
        return [Document("a", metadata={self.named: first}), Document("b", metadata={self.named: 0.5})]


async def test_retriever_brings_scores_in_the_metadata():
    cutoff = HublessCutoff(retriever=Scored(), cut=Lead(), k=1)
    assert [found.page_content for found in cutoff.invoke("0.9")] == ["a"]
    assert cutoff.invoke("0.6") == []
    assert [found.page_content for found in await cutoff.ainvoke("0.9")] == ["a"]
    other = HublessCutoff(retriever=Scored(named="relevance"), cut=Lead())
    with pytest.raises(ValueError, match="score: expected documents with 'score' in the metadata"):
        other.invoke("0.9")
    assert HublessCutoff(retriever=Scored(named="relevance"), cut=Lead(), score="relevance").invoke("0.9")
