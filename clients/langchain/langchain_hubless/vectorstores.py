"""The vector store. Each operation is one program of steps, which runs sync and async."""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Self, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from hubless_client import ApiCollectionNotFound, BankInfo, CannotSend, Hit
from hubless_client.connection import DEFAULT_URL
from hubless_client.diversity import diverse_hits
from hubless_client.documents import BATCH, WAIT, Documents
from hubless_client.steps import BothClients, Program, Step, arun, run
from hubless_client.values import given
from langchain_hubless.documents import document_of, payload_of
from langchain_hubless.errors import translated
from langchain_hubless.filters import filter_of

EXTREME = 700.0  # math.exp overflows above

Filter = Mapping[str, Any] | None
T = TypeVar("T")


class HublessVectorStore(VectorStore):
    """Documents in a collection of a hubless server.

    Scores are similarity − strength · offset: higher is better. Relevance scores, by which `score_threshold` of
    `similarity_search_with_relevance_scores` cuts, are how likely a document is right, 0 to 1. The collection is made
    when texts are first added, if the server has none of this name: cosine, string ids, any metadata. Until then
    searches find nothing. It ranks raw until it has a bank of queries, as your users ask them: see `add_query_bank`.

    Parameters
    ----------
    embedding : makes vectors of texts
    collection : its name, or an alias
    url, api_key : of the server
    content_key : the payload column of a document's text; metadata has the others
    strength : how much of the correction is applied, unless a search says: 1 is full, 0 is the raw ranking; None is
        that of the collection
    options : further options of `hubless_client.Client`

    Raises
    ------
    HublessError : from all methods; it says what to do
    """

    def __init__(
        self,
        embedding: Embeddings,
        collection: str,
        *,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        content_key: str = "page_content",
        strength: float | None = None,
        **options: Any,
    ) -> None:
        self.content_key = content_key
        self.strength = strength
        self._embedding = embedding
        with translated():
            self._documents = Documents(BothClients(url, api_key=api_key, **options), collection)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store holds open connections and a key: send what it was made of, and make it again there")

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: str = "langchain",
        **options: Any,
    ) -> Self:
        """A store with these texts. Options are those of the class."""
        store = cls(embedding, collection, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        collection: str = "langchain",
        **options: Any,
    ) -> Self:
        """A store with these texts. Options are those of the class."""
        store = cls(embedding, collection, **options)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings that turn texts into vectors."""
        return self._embedding

    @property
    def collection(self) -> str:
        """Its name, or an alias."""
        return self._documents.collection

    def close(self) -> None:
        """Close the connections that the methods keep open."""
        self._documents.clients.close()

    async def aclose(self) -> None:
        """Close the connections that the methods, and the async methods in this event loop, keep open."""
        await self._documents.clients.aclose()

    # Add, read, delete.

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **_: Any,
    ) -> list[str]:
        """Store texts, or replace those of the same ids. Returns their ids; new ones where you give none."""
        return self._run(self._add(list(texts), metadatas, ids))

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **_: Any,
    ) -> list[str]:
        """Store texts, or replace those of the same ids. Returns their ids; new ones where you give none."""
        return await self._arun(self._add(list(texts), metadatas, ids))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of some ids; ids that no document has are left out."""
        return self._run(self._get(ids))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of some ids; ids that no document has are left out."""
        return await self._arun(self._get(ids))

    def delete(self, ids: list[str] | None = None, *, filter: Filter = None, **_: Any) -> bool:
        """Delete documents by ids or by a filter; all, if you give neither. Unknown ids are passed over."""
        return self._run(self._delete(ids, filter))

    async def adelete(self, ids: list[str] | None = None, *, filter: Filter = None, **_: Any) -> bool:
        """Delete documents by ids or by a filter; all, if you give neither. Unknown ids are passed over."""
        return await self._arun(self._delete(ids, filter))

    def add_query_bank(self, queries: Iterable[str], *, replace: bool = False, wait: float = WAIT) -> BankInfo:
        """Take hubness out of the ranking, as measured with example queries: questions as your users ask them.

        Call it when there are documents, and again when there are many new ones. It needs a key of role admin.

        Parameters
        ----------
        queries : 100 or more, embedded as queries; no documents
        replace : forget those of before
        wait : seconds to wait for the fit; after that it goes on, and the ranking changes later
        """
        return self._run(self._add_bank(list(queries), replace, wait))

    async def aadd_query_bank(self, queries: Iterable[str], *, replace: bool = False, wait: float = WAIT) -> BankInfo:
        """Take hubness out of the ranking, as `add_query_bank` does."""
        return await self._arun(self._add_bank(list(queries), replace, wait))

    # Search.

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """The best documents for a text. Options: `filter`, `strength`, `score_threshold`, `params`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    async def asimilarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """The best documents for a text. Options: `filter`, `strength`, `score_threshold`, `params`."""
        return [document for document, _ in await self.asimilarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[tuple[Document, float]]:
        """The best documents for a text, and their corrected scores: higher is better."""
        return self._run(self._search(query, k, options))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """The best documents for a text, and their corrected scores: higher is better."""
        return await self._arun(self._search(query, k, options))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """The best documents for a vector."""
        return [document for document, _ in self._run(self._search(embedding, k, options))]

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """The best documents for a vector."""
        return [document for document, _ in await self._arun(self._search(embedding, k, options))]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Documents that fit a text and differ from each other, among its `fetch_k` best."""
        return self._run(self._diverse(query, k, fetch_k, lambda_mult, options))

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Documents that fit a text and differ from each other, among its `fetch_k` best."""
        return await self._arun(self._diverse(query, k, fetch_k, lambda_mult, options))

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Documents that fit a vector and differ from each other, among its `fetch_k` best."""
        return self._run(self._diverse(embedding, k, fetch_k, lambda_mult, options))

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Documents that fit a vector and differ from each other, among its `fetch_k` best."""
        return await self._arun(self._diverse(embedding, k, fetch_k, lambda_mult, options))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._relevance

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        return self._run(self._search(query, k, options, self._relevance_of))

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        return await self._arun(self._search(query, k, options, self._relevance_of))

    # The programs.

    def _add(
        self, texts: list[str], metadatas: list[dict[str, Any]] | None, ids: list[str] | None
    ) -> Program[list[str]]:
        metadatas = [{} for _ in texts] if metadatas is None else metadatas
        names = [str(uuid.uuid4()) for _ in texts] if ids is None else [name or str(uuid.uuid4()) for name in ids]
        for parameter, count in (("metadatas", len(metadatas)), ("ids", len(names))):
            if count != len(texts):
                raise CannotSend(f"{parameter}: expected {len(texts)}, one for each text, got {count}")
        payload = [payload_of(text, data or {}, self.content_key) for text, data in zip(texts, metadatas, strict=True)]
        if not texts:
            return []
        yield from self._made()
        for start in range(0, len(texts), BATCH):
            part = slice(start, start + BATCH)
            vectors = yield self._vectors_of(texts[part])
            yield from self._documents.put(names[part], vectors, payload[part])
        return names

    def _get(self, ids: Sequence[str]) -> Program[list[Document]]:
        if not (yield from self._is_made()):
            return []
        points = yield from self._documents.get(ids)
        return [document_of(point.id, point.payload, self.content_key) for point in points]

    def _delete(self, ids: list[str] | None, filter: Filter) -> Program[bool]:
        with suppress(ApiCollectionNotFound):
            yield from self._documents.delete(ids, filter_of(filter))
        return True

    def _add_bank(self, queries: list[str], replace: bool, wait: float) -> Program[BankInfo]:
        yield from self._made()
        vectors = []
        for query in queries:
            vector = yield self._vector_of(query)
            vectors.append(vector)
        return (yield from self._documents.put_bank(vectors, replace, wait))

    def _search(
        self,
        query: str | list[float],
        k: int,
        options: dict[str, Any],
        scored: Callable[[Hit], float] = lambda hit: hit.score,
    ) -> Program[list[tuple[Document, float]]]:
        hits = yield from self._hits(query, k, options)
        return [(document_of(hit.id, hit.payload, self.content_key), scored(hit)) for hit in hits]

    def _diverse(
        self, query: str | list[float], k: int, fetch_k: int, weight: float, options: dict[str, Any]
    ) -> Program[list[Document]]:
        hits = yield from self._hits(query, max(k, fetch_k), {**options, "with_vector": True})
        chosen = diverse_hits(hits, k, weight)
        return [document_of(hit.id, hit.payload, self.content_key) for hit in chosen]

    def _hits(self, query: str | list[float], k: int, options: dict[str, Any]) -> Program[Sequence[Hit]]:
        if not (yield from self._is_made()):
            return []
        vector = (yield self._vector_of(query)) if isinstance(query, str) else query
        options = options | {"filter": filter_of(options.get("filter"))}
        asked = {"limit": k, "strength": self.strength} | given(options)
        return (yield from self._documents.query(vector, **asked))

    def _is_made(self) -> Program[bool]:
        """Return if there is a collection. Searches make none, as a wrong name would leave empty ones behind."""
        try:
            yield from self._documents.found()
        except ApiCollectionNotFound:
            return False
        return True

    def _made(self) -> Program[None]:
        """Make the collection if there is none."""
        yield from self._documents.made(self._vector_of("dimension"))

    def _relevance_of(self, hit: Hit) -> float:
        """The hit's share of the confidence; its score, scaled, where the collection has no model of confidence."""
        return self._relevance(hit.score) if hit.share is None else hit.share

    def _relevance(self, score: float) -> float:
        """A score between 0 and 1. Scores exist only after a search, which has read the collection's metric."""
        metric = "cosine" if self._documents.info is None else self._documents.info.metric
        if metric == "euclidean":
            return math.exp(min(score, 0.0))
        if metric == "dot":
            return 1 / (1 + math.exp(-min(max(score, -EXTREME), EXTREME)))
        return min(1.0, max(0.0, (1 + score) / 2))

    def _vectors_of(self, texts: list[str]) -> Step:
        return Step(lambda: self._embedding.embed_documents(texts), lambda: self._embedding.aembed_documents(texts))

    def _vector_of(self, text: str) -> Step:
        return Step(lambda: self._embedding.embed_query(text), lambda: self._embedding.aembed_query(text))

    def _run(self, program: Program[T]) -> T:
        with translated():
            return run(program)

    async def _arun(self, program: Program[T]) -> T:
        with translated():
            return await arun(program)
