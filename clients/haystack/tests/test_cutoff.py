"""The cutoff in a pipeline behind Haystack's own in-memory store."""

import sys
from types import SimpleNamespace

import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.components.rankers.hubless import HublessCutoff


class Lead:
    def accept(self, scores, accuracy):
        return scores[0] - scores[1] > accuracy / 10


def test_documents_stay_where_the_cut_is_reached():
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    vectors = {"east": [1.0, 0.0], "north": [0.0, 1.0], "near": [0.1, 1.0]}
    store.write_documents([Document(content=name, embedding=vector) for name, vector in vectors.items()])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=3))
    pipeline.add_component("cutoff", HublessCutoff(Lead(), top_k=1))
    pipeline.connect("retriever", "cutoff")
    found = [
        pipeline.run({"retriever": {"query_embedding": vector}})["cutoff"]["documents"]
        for vector in (vectors["east"], vectors["north"])
    ]
    assert [[each.content for each in documents] for documents in found] == [["east"], []]


def test_documents_without_scores_are_refused():
    with pytest.raises(ValueError, match="documents: expected each with a score"):
        HublessCutoff(Lead()).run([Document(content="a")])


class Kept(Lead):
    """A cut that is stored as numbers, as `hubless.Cut` is, which this environment lacks."""

    def __init__(self, numbers):
        self.numbers = numbers

    def as_json(self):
        return self.numbers

    from_json = classmethod(lambda cls, numbers: cls(numbers))


def test_stored_pipeline_keeps_the_cut(monkeypatch):
    monkeypatch.setitem(sys.modules, "hubless", SimpleNamespace(Cut=Kept))
    again = HublessCutoff.from_dict(HublessCutoff(Kept({"slope": 1.5}), 0.8, top_k=2).to_dict())
    assert (again.accuracy, again.top_k, again.cut.as_json()) == (0.8, 2, {"slope": 1.5})
