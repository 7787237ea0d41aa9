"""Haystack's own tests, unchanged."""

import dataclasses

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing import document_store as suites, document_store_async as async_suites


class Standard:
    """What the suites leave to a store."""

    @pytest.fixture
    def document_store(self, new_store):
        return new_store()

    @staticmethod
    def assert_documents_are_equal(received, expected):
        """The same documents, in any order. Embeddings are float32, of length 1 under cosine."""
        received, expected = ({document.id: document for document in each} for each in (received, expected))
        assert received.keys() == expected.keys()
        for name, document in expected.items():
            embedding = received[name].embedding
            assert dataclasses.replace(received[name], embedding=None) == dataclasses.replace(document, embedding=None)
            assert (embedding is None) == (document.embedding is None)
            if embedding is not None:
                length = sum(number**2 for number in document.embedding) ** 0.5
                assert embedding == pytest.approx([number / length for number in document.embedding], abs=1e-6)


class TestDocumentStore(
    Standard,
    suites.DocumentStoreBaseExtendedTests,
    suites.CountDocumentsByFilterTest,
    suites.CountUniqueMetadataByFilterTest,
    suites.GetMetadataFieldsInfoTest,
    suites.GetMetadataFieldMinMaxTest,
    suites.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store):
        # the suite asks for the test of what happens without a policy
        documents = [Document(content="a"), Document(content="b")]
        assert document_store.write_documents(documents) == 2
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents[:1])
        self.assert_documents_are_equal(document_store.filter_documents(), documents)


class TestAsyncDocumentStore(
    Standard,
    async_suites.CountDocumentsAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
):
    async def test_write_documents_async(self, document_store):
        documents = [Document(content="a"), Document(content="b")]
        assert await document_store.write_documents_async(documents) == 2
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async(documents[:1])
        self.assert_documents_are_equal(await document_store.filter_documents_async(), documents)
