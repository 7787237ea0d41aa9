"""A retriever that answers only what is right often enough, by the scores of any other retriever or vector store."""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict

DEPTH = 11
"""So many scores a cut reads."""


class Accepts(Protocol):
    """The protocol of a `hubless.Cut`: scores say whether to answer."""

    def accept(self, scores: Sequence[float], accuracy: float) -> bool: ...


class HublessCutoff(BaseRetriever):
    """The documents of a vector store or of a retriever for a query; none where the cut is not reached.

    Attributes
    ----------
    retriever : a vector store of any kind, or a retriever whose documents have their scores in the metadata
    cut : a `hubless.Cut` that was fitted on scores of the same retriever, and calibrated
    accuracy : the share of answers whose first document is right
    k : number of documents
    score : under which name documents of a retriever have their scores
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    retriever: BaseRetriever | VectorStore
    cut: Any
    accuracy: float = 0.9
    k: int = 4
    score: str = "score"

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if isinstance(self.retriever, VectorStore):
            most = max(self.k, DEPTH)
            return self._answer(self.retriever.similarity_search_with_score(query, k=most, **options))
        found = self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **options)
        return self._answer(self._scored(found))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if isinstance(self.retriever, VectorStore):
            most = max(self.k, DEPTH)
            return self._answer(await self.retriever.asimilarity_search_with_score(query, k=most, **options))
        found = await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()}, **options)
        return self._answer(self._scored(found))

    def _scored(self, documents: Sequence[Document]) -> list[tuple[Document, float]]:
        if any(self.score not in document.metadata for document in documents):
            expected = f"documents with {self.score!r} in the metadata, or a vector store as `retriever`"
            raise ValueError(f"score: expected {expected}")
        return [(document, document.metadata[self.score]) for document in documents]

    def _answer(self, found: Sequence[tuple[Document, float]]) -> list[Document]:
        accepts: Accepts = self.cut
        if not accepts.accept([float(score) for _, score in found], self.accuracy):
            return []
        return [document for document, _ in found[: self.k]]
