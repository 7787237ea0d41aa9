"""The retriever of documents that a HublessDocumentStore keeps."""

from haystack_integrations.components.retrievers.hubless.embedding_retriever import HublessEmbeddingRetriever

__all__ = ["HublessEmbeddingRetriever"]
