"""A retriever: a query's documents by corrected scores."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_hubless.vectorstores import HublessVectorStore


class HublessRetriever(BaseRetriever):
    """The documents of a `HublessVectorStore` for a query.

    Attributes
    ----------
    store : where to search
    k : number of documents
    filter : such as {"year": {"$gte": 2000}}, or a JSON filter of hubless
    strength : how much of the correction is applied: 0 is the raw ranking; None is the collection's
    """

    store: HublessVectorStore
    k: int = 4
    filter: dict[str, Any] | None = None
    strength: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return self.store.similarity_search(query, **self._options(options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await self.store.asimilarity_search(query, **self._options(options))

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"k": self.k, "filter": self.filter, "strength": self.strength, **given}
