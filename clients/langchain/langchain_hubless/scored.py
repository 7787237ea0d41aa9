"""Documents with their scores, of any vector store or retriever."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict


class ScoredRetriever(BaseRetriever):
    """Asks another retriever, or a vector store, and answers by documents and their scores.

    Attributes
    ----------
    retriever : a vector store of any kind, or a retriever whose documents have their scores in the metadata
    k : number of documents
    score : under which name documents of a retriever have their scores
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    retriever: BaseRetriever | VectorStore
    k: int = 4
    score: str = "score"

    @property
    @abstractmethod
    def wanted(self) -> int:
        """The number of documents that a vector store is asked for."""

    @abstractmethod
    def answer(self, found: Sequence[tuple[Document, float]]) -> list[Document]:
        """Return the documents of an answer."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if isinstance(self.retriever, VectorStore):
            return self.answer(self.retriever.similarity_search_with_score(query, k=self.wanted, **options))
        found = self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **options)
        return self.answer(self._scored(found))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if isinstance(self.retriever, VectorStore):
            return self.answer(await self.retriever.asimilarity_search_with_score(query, k=self.wanted, **options))
        found = await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()}, **options)
        return self.answer(self._scored(found))

    def _scored(self, documents: Sequence[Document]) -> list[tuple[Document, float]]:
        if any(self.score not in document.metadata for document in documents):
            expected = f"documents with {self.score!r} in the metadata, or a vector store as `retriever`"
            raise ValueError(f"score: expected {expected}")
        return [(document, document.metadata[self.score]) for document in documents]
