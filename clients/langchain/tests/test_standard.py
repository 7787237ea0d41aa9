"""LangChain's own tests, unchanged."""

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from langchain_hubless import HublessRetriever


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, store):
        # the suite wants its own embedding
        store._embedding = self.get_embeddings()
        return store


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def filled(self, store):
        assert isinstance(store.embeddings, DeterministicFakeEmbedding)
        store.add_documents([Document(page_content=f"text {number}") for number in range(8)])
        self.store = store

    @property
    def retriever_constructor(self):
        return HublessRetriever

    @property
    def retriever_constructor_params(self):
        return {"store": self.store}

    @property
    def retriever_query_example(self):
        return "text 3"
