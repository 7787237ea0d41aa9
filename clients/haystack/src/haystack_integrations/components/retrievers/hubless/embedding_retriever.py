"""The documents of a HublessDocumentStore that fit an embedding, by corrected scores."""

from typing import Any, Self

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy
from haystack.document_stores.types.filter_policy import apply_filter_policy

from haystack_integrations.document_stores.hubless import HublessDocumentStore


@component
class HublessEmbeddingRetriever:
    """The documents that fit an embedding best.

    Parameters
    ----------
    document_store : where to search
    filters : which documents to search
    top_k : number of documents
    strength : how much of the correction is applied: 1 is full, 0 is the raw ranking; None is the store's
    score_threshold : leave out documents with a lower score
    scale_score : whether scores are how likely a document is right, 0 to 1, in place of similarity − strength · offset
    return_embedding : whether documents bring their embeddings
    filter_policy : whether filters of a run replace those above or are merged with them
    """

    def __init__(
        self,
        document_store: HublessDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        strength: float | None = None,
        score_threshold: float | None = None,
        scale_score: bool = False,
        return_embedding: bool = False,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, HublessDocumentStore):
            got = type(document_store).__name__
            raise ValueError(f"document_store: expected a HublessDocumentStore, got {got}")  # noqa: TRY004
        self.document_store = document_store
        self.filters = filters or {}
        self.top_k = top_k
        self.strength = strength
        self.score_threshold = score_threshold
        self.scale_score = scale_score
        self.return_embedding = return_embedding
        self.filter_policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that a pipeline stores."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            strength=self.strength,
            score_threshold=self.score_threshold,
            scale_score=self.scale_score,
            return_embedding=self.return_embedding,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The retriever that a pipeline stored."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        strength: float | None = None,
        score_threshold: float | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Search. What is not given is as the retriever was made."""
        options = self._options(filters, top_k, strength, score_threshold, scale_score, return_embedding)
        return {"documents": self.document_store._embedding_retrieval(query_embedding, **options)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        strength: float | None = None,
        score_threshold: float | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Search. What is not given is as the retriever was made."""
        options = self._options(filters, top_k, strength, score_threshold, scale_score, return_embedding)
        return {"documents": await self.document_store._embedding_retrieval_async(query_embedding, **options)}

    def _options(
        self,
        filters: dict[str, Any] | None,
        top_k: int | None,
        strength: float | None,
        score_threshold: float | None,
        scale_score: bool | None,
        return_embedding: bool | None,
    ) -> dict[str, Any]:
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else top_k,
            "strength": self.strength if strength is None else strength,
            "score_threshold": self.score_threshold if score_threshold is None else score_threshold,
            "scale_score": self.scale_score if scale_score is None else scale_score,
            "return_embedding": self.return_embedding if return_embedding is None else return_embedding,
        }
