"""The document store. Each operation is one program of steps, which runs sync and async."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self, TypeVar

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from haystack_integrations.document_stores.hubless.documents import (
    MODES,
    changed_meta,
    checked,
    distinct,
    document_of,
    payload_of,
)
from haystack_integrations.document_stores.hubless.errors import translated
from haystack_integrations.document_stores.hubless.filters import filter_of
from haystack_integrations.document_stores.hubless.metadata import (
    counts_of,
    extremes_of,
    page_of,
    types_of,
    values_of,
)
from hubless_client import BankInfo, Point
from hubless_client.connection import DEFAULT_URL
from hubless_client.documents import BATCH, WAIT, Documents
from hubless_client.steps import BothClients, Program, arun, run

Filters = dict[str, Any] | None
T = TypeVar("T")


class HublessDocumentStore:
    """Documents in a collection of a hubless server.

    Scores are similarity − strength · offset: higher is better. The collection is made when it is first used, if the
    server has none of this name: string ids, any metadata. It ranks raw until it has a bank of queries, as your users
    ask them. Documents without embeddings are found by filters only.

    Parameters
    ----------
    collection : its name, or an alias
    url : of the server
    api_key : of the server, if it has keys; by default the environment variable HUBLESS_API_KEY has it
    embedding_dim : d, of all embeddings
    metric : of a new collection, "cosine", "dot" or "euclidean"; "cosine" gives embeddings back with length 1
    strength : how much of the correction is applied, unless a retriever says: 1 is full, 0 is the raw ranking; None is
        that of the collection
    timeout : seconds for each request

    Raises
    ------
    HublessError : from all methods; it says what to do
    FilterError : a filter is wrong
    """

    def __init__(
        self,
        collection: str,
        *,
        url: str = DEFAULT_URL,
        api_key: Secret | None = Secret.from_env_var("HUBLESS_API_KEY", strict=False),  # noqa: B008
        embedding_dim: int = 768,
        metric: str = "cosine",
        strength: float | None = None,
        timeout: float | None = None,
    ) -> None:
        self.collection = collection
        self.url = url
        self.api_key = api_key
        self.embedding_dim = embedding_dim
        self.metric = metric
        self.strength = strength
        self.timeout = timeout

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that a pipeline stores."""
        return default_to_dict(
            self,
            collection=self.collection,
            url=self.url,
            api_key=self.api_key.to_dict() if self.api_key else None,
            embedding_dim=self.embedding_dim,
            metric=self.metric,
            strength=self.strength,
            timeout=self.timeout,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The store that a pipeline stored."""
        return default_from_dict(cls, data)

    def close(self) -> None:
        """Close the connections that the methods keep open."""
        self._documents.clients.close()

    async def close_async(self) -> None:
        """Close the connections that the methods, and the async methods in this event loop, keep open."""
        await self._documents.clients.aclose()

    # Count and read.

    def count_documents(self) -> int:
        """Return the number of documents."""
        return self._run(self._count(None))

    async def count_documents_async(self) -> int:
        """Return the number of documents."""
        return await self._arun(self._count(None))

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that meet a filter."""
        return self._run(self._count(filters))

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that meet a filter."""
        return await self._arun(self._count(filters))

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """The documents that meet a filter, or all; with embeddings."""
        return self._run(self._matches(filters))

    async def filter_documents_async(self, filters: Filters = None) -> list[Document]:
        """The documents that meet a filter, or all; with embeddings."""
        return await self._arun(self._matches(filters))

    # Write and delete.

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Store documents. Returns how many were written.

        They go in requests of 200; each request stores all or none.

        Parameters
        ----------
        policy : for ids that are there: NONE and FAIL raise DuplicateDocumentError, SKIP leaves the stored document,
            OVERWRITE replaces it
        """
        return self._run(self._write(checked(documents), policy))

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Store documents, as `write_documents` does."""
        return await self._arun(self._write(checked(documents), policy))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add to the metadata of documents that meet a filter, or change it. Returns how many were changed.

        Metadata is read and written back: what another program changes in between is lost.
        """
        return self._run(self._update(filters, meta))

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add to the metadata of documents that meet a filter, as `update_by_filter` does."""
        return await self._arun(self._update(filters, meta))

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the documents of some ids. Unknown ids are passed over."""
        self._run(self._delete(ids=document_ids))

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Delete the documents of some ids. Unknown ids are passed over."""
        await self._arun(self._delete(ids=document_ids))

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that meet a filter. Returns how many."""
        return self._run(self._delete(filters=filters))

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Delete the documents that meet a filter. Returns how many."""
        return await self._arun(self._delete(filters=filters))

    def delete_all_documents(self) -> None:
        """Delete all documents. The collection stays, and its query bank."""
        self._run(self._delete())

    async def delete_all_documents_async(self) -> None:
        """Delete all documents. The collection stays, and its query bank."""
        await self._arun(self._delete())

    def add_query_bank(
        self, queries: Sequence[Sequence[float]], *, replace: bool = False, wait: float = WAIT
    ) -> BankInfo:
        """Take hubness out of the ranking, as measured with example queries: questions as your users ask them.

        Call it when there are documents, and again when there are many new ones. It needs a key of role admin.

        Parameters
        ----------
        queries : (b, d) embeddings of 100 or more questions, as the text embedder of your pipeline makes them
        replace : forget those of before
        wait : seconds to wait for the fit; after that it goes on, and the ranking changes later
        """
        return self._run(self._add_bank(queries, replace, wait))

    async def add_query_bank_async(
        self, queries: Sequence[Sequence[float]], *, replace: bool = False, wait: float = WAIT
    ) -> BankInfo:
        """Take hubness out of the ranking, as `add_query_bank` does."""
        return await self._arun(self._add_bank(queries, replace, wait))

    # What metadata there is.

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The type of each field of the metadata."""
        return types_of(self._run(self._metadata()))

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """The type of each field of the metadata."""
        return types_of(await self._arun(self._metadata()))

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field, as "min" and "max"; None if no document has it."""
        return extremes_of(values_of(self._run(self._metadata()), metadata_field))

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field, as "min" and "max"; None if no document has it."""
        return extremes_of(values_of(await self._arun(self._metadata()), metadata_field))

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """Some of the values that documents have for a field, and how many there are.

        Parameters
        ----------
        search_term : part of the values' texts, in capitals or not; None for all values
        from_, size : which of the values, in order of their texts
        filters : which documents to look at
        """
        values = values_of(self._run(self._metadata(filters)), metadata_field)
        return page_of(values, search_term, from_, size)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """Some of the values that documents have for a field, as `get_metadata_field_unique_values` gives them."""
        values = values_of(await self._arun(self._metadata(filters)), metadata_field)
        return page_of(values, search_term, from_, size)

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Return the number of values of each field, among the documents that meet a filter."""
        return counts_of(self._run(self._metadata(filters)), metadata_fields)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return the number of values of each field, among the documents that meet a filter."""
        return counts_of(await self._arun(self._metadata(filters)), metadata_fields)

    # Search: `HublessEmbeddingRetriever` asks these.

    def _embedding_retrieval(self, query_embedding: list[float], **options: Any) -> list[Document]:
        return self._run(self._retrieve(query_embedding, **options))

    async def _embedding_retrieval_async(self, query_embedding: list[float], **options: Any) -> list[Document]:
        return await self._arun(self._retrieve(query_embedding, **options))

    # The programs.

    def _count(self, filters: Filters) -> Program[int]:
        documents = yield from self._made()
        count: int = yield documents.clients.call("count", self.collection, filter=filter_of(filters))
        return count

    def _matches(self, filters: Filters) -> Program[list[Document]]:
        wanted = filter_of(filters)
        documents = yield from self._made()
        points = yield from documents.matches(wanted, with_vector=True)
        return [document_of(point, with_embedding=True) for point in points]

    def _write(self, given: Sequence[Document], policy: DuplicatePolicy) -> Program[int]:
        wanted = distinct(given, policy)
        documents = yield from self._made()
        stored = yield from documents.put(
            [document.id for document in wanted],
            [document.embedding for document in wanted],
            [payload_of(document) for document in wanted],
            MODES[policy],
        )
        return len(given) if policy is DuplicatePolicy.OVERWRITE else stored

    def _update(self, filters: dict[str, Any], meta: dict[str, Any]) -> Program[int]:
        points = yield from self._metadata(filters)
        for start in range(0, len(points), BATCH):
            patch = changed_meta(points[start : start + BATCH], meta)
            yield self._documents.clients.call("patch", self.collection, patch)
        return len(points)

    def _delete(self, ids: Sequence[str] | None = None, filters: Filters = None) -> Program[int]:
        wanted = filter_of(filters)
        documents = yield from self._made()
        return (yield from documents.delete(ids, wanted))

    def _add_bank(self, queries: Sequence[Sequence[float]], replace: bool, wait: float) -> Program[BankInfo]:
        documents = yield from self._made()
        return (yield from documents.put_bank(queries, replace, wait))

    def _metadata(self, filters: Filters = None) -> Program[list[Point]]:
        wanted = filter_of(filters)
        documents = yield from self._made()
        return (yield from documents.matches(wanted, with_payload=["meta"]))

    def _retrieve(
        self,
        query_embedding: list[float],
        *,
        filters: Filters = None,
        top_k: int = 10,
        strength: float | None = None,
        score_threshold: float | None = None,
        scale_score: bool = False,
        return_embedding: bool = False,
    ) -> Program[list[Document]]:
        wanted = filter_of(filters)
        documents = yield from self._made()
        hits = yield from documents.query(
            query_embedding,
            limit=top_k,
            filter=wanted,
            strength=self.strength if strength is None else strength,
            score_threshold=score_threshold,
            with_vector=return_embedding,
        )
        scores = documents.shares(hits) if scale_score else [hit.score for hit in hits]
        scored = [replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
        return [document_of(hit, return_embedding) for hit in scored]

    def _made(self) -> Program[Documents]:
        """The collection, made if there is none."""
        yield from self._documents.made(self.embedding_dim, self.metric)
        return self._documents

    @cached_property
    def _documents(self) -> Documents:
        """Made when it is first used: a pipeline that is only loaded needs no key."""
        api_key = self.api_key.resolve_value() if self.api_key else None
        options = {} if self.timeout is None else {"timeout": self.timeout}
        return Documents(BothClients(self.url, api_key=api_key, **options), self.collection)

    def _run(self, program: Program[T]) -> T:
        with translated():
            return run(program)

    async def _arun(self, program: Program[T]) -> T:
        with translated():
            return await arun(program)
