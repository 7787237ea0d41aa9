"""The vector store. Each operation is one program of steps, which runs sync and async."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from hubless_client import ApiCollectionNotFound, BankInfo, CannotSend, Client
from hubless_client.connection import DEFAULT_URL
from hubless_client.diversity import diverse_hits
from hubless_client.documents import WAIT, Documents
from hubless_client.hits import Hit
from hubless_client.points import Point
from hubless_client.steps import BothClients, Program, arun, run
from hubless_client.values import given
from llama_index.vector_stores.hubless.errors import translated
from llama_index.vector_stores.hubless.filters import all_of, among, filter_of, keys_of_lists
from llama_index.vector_stores.hubless.nodes import NODE_ID, REF_DOC_ID, node_of, payload_of

T = TypeVar("T")


class HublessVectorStore(BasePydanticVectorStore):
    """Nodes in a collection of a hubless server.

    Similarities of results are similarity − strength · offset: higher is better. The collection is made when nodes are
    first added, if the server has none of this name: cosine, string ids, any metadata. It ranks raw until it has a bank
    of queries, as your users ask them.

    Parameters
    ----------
    collection : its name, or an alias
    url, api_key : of the server
    text_key : the payload key of a node's text; metadata has the others
    strength : how much of the correction is applied, unless a query says: 1 is full, 0 is the raw ranking; None is that
        of the collection
    options : further options of `hubless_client.Client`

    `to_dict` and pickles leave the key out: give it to `from_dict`.

    Raises
    ------
    HublessError : from all methods; it says what to do
    """

    stores_text: bool = True
    collection: str
    url: str = DEFAULT_URL
    text_key: str = "text"
    strength: float | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    _documents: Documents = PrivateAttr()

    MODES: ClassVar[frozenset[VectorStoreQueryMode]] = frozenset(
        {VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR}
    )

    def __init__(
        self,
        collection: str,
        *,
        url: str = DEFAULT_URL,
        api_key: str | None = None,
        text_key: str = "text",
        strength: float | None = None,
        **options: Any,
    ) -> None:
        options = {**options.pop("options", {}), **options}
        options = {name: value for name, value in options.items() if name not in type(self).model_fields}
        fields: dict[str, Any] = {
            "collection": collection,
            "url": url,
            "text_key": text_key,
            "strength": strength,
            "options": options,
        }
        super().__init__(**fields)
        with translated():
            self._documents = Documents(BothClients(url, api_key=api_key, **options), collection)

    @classmethod
    def class_name(cls) -> str:
        """Its name in files of LlamaIndex."""
        return "HublessVectorStore"

    @property
    def client(self) -> Client:
        """The sync client."""
        return self._documents.clients.client

    def close(self) -> None:
        """Close the connections that the methods keep open."""
        self._documents.clients.close()

    async def aclose(self) -> None:
        """Close the connections that the methods, and the async methods in this event loop, keep open."""
        await self._documents.clients.aclose()

    # Add, read, delete.

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes, which have their embeddings, or replace those of the same ids. Returns their ids."""
        return self._run(self._add(nodes))

    async def async_add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Store nodes, which have their embeddings, or replace those of the same ids. Returns their ids."""
        return await self._arun(self._add(nodes))

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The nodes of some ids, those that pass the filters, or all; with embeddings, of length 1 under cosine."""
        return self._run(self._get(node_ids, filters))

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """The nodes of some ids, those that pass the filters, or all; with embeddings, of length 1 under cosine."""
        return await self._arun(self._get(node_ids, filters))

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document."""
        self._run(self._delete(among(REF_DOC_ID, [ref_doc_id])))

    async def adelete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete the nodes of a document."""
        await self._arun(self._delete(among(REF_DOC_ID, [ref_doc_id])))

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Delete the nodes that are among the ids and pass the filters. `clear` deletes all."""
        self._run(self._delete_nodes(node_ids, filters))

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> None:
        """Delete the nodes that are among the ids and pass the filters. `aclear` deletes all."""
        await self._arun(self._delete_nodes(node_ids, filters))

    def clear(self) -> None:
        """Delete all nodes. The collection stays, and its query bank."""
        self._run(self._delete(None))

    async def aclear(self) -> None:
        """Delete all nodes. The collection stays, and its query bank."""
        await self._arun(self._delete(None))

    def add_query_bank(
        self, queries: Sequence[Sequence[float]], *, replace: bool = False, wait: float = WAIT
    ) -> BankInfo:
        """Take hubness out of the ranking, as measured with example queries: questions as your users ask them.

        Call it when there are nodes, and again when there are many new ones. It needs a key of role admin.

        Parameters
        ----------
        queries : (b, d) embeddings of 100 or more questions, as `get_query_embedding` of the model makes them
        replace : forget those of before
        wait : seconds to wait for the fit; after that it goes on, and the ranking changes later
        """
        return self._run(self._add_bank(queries, replace, wait))

    async def aadd_query_bank(
        self, queries: Sequence[Sequence[float]], *, replace: bool = False, wait: float = WAIT
    ) -> BankInfo:
        """Take hubness out of the ranking, as `add_query_bank` does."""
        return await self._arun(self._add_bank(queries, replace, wait))

    # Search.

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """The best nodes for an embedding. An index passes options on from `vector_store_kwargs`.

        Parameters
        ----------
        query : in mode "default" or "mmr"
        options : `strength`, `score_threshold`, `params`; for "mmr" also `mmr_threshold` (1 is by score alone) and
            `fetch_k`, of how many nodes to choose. With `scale_score`, similarities are how likely a node is right, 0
            to 1, as a `SimilarityPostprocessor` cuts them
        """
        return self._run(self._query(query, **options))

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """The best nodes for an embedding, as `query` finds them."""
        return await self._arun(self._query(query, **options))

    # The programs.

    def _add(self, nodes: Sequence[BaseNode]) -> Program[list[str]]:
        ids = [node.node_id for node in nodes]
        vectors = [node.get_embedding() for node in nodes]
        payload = [payload_of(node, self.text_key) for node in nodes]
        if nodes:
            yield from self._documents.made(len(vectors[0]))
            yield from self._documents.put(ids, vectors, payload)
        return ids

    def _get(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> Program[list[BaseNode]]:
        yield from self._documents.found()
        wanted = filter_of(filters)
        if node_ids is not None and wanted is None:
            points = yield from self._documents.get(node_ids, with_vector=True)
        else:
            points = yield from self._documents.matches(all_of(among(NODE_ID, node_ids), wanted), with_vector=True)
        if not points:
            yield from self._refuse_texts(filters)
        return [self._node(point) for point in points]

    def _refuse_texts(self, filters: MetadataFilters | None) -> Program[None]:
        """Raise `CannotSend` if a filter looks for elements in what is a text."""
        for key in keys_of_lists(filters):
            is_text = {"field": key, "prefix": ""}
            if (yield self._documents.clients.call("scroll_page", self.collection, filter=is_text, limit=1)):
                raise CannotSend(f"filters: {key!r} is a text; contains, any and all look into lists. Take ==")

    def _delete_nodes(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> Program[None]:
        wanted = filter_of(filters)
        if node_ids is None and wanted is None:
            raise CannotSend("delete_nodes: expected node_ids or filters, got neither; clear deletes all nodes")
        if node_ids is None or wanted is not None:
            yield from self._delete(all_of(among(NODE_ID, node_ids), wanted))
        else:
            yield from self._delete(None, node_ids)

    def _delete(self, filter: dict[str, Any] | None, ids: list[str] | None = None) -> Program[None]:
        try:
            yield from self._documents.delete(ids, filter)
        except ApiCollectionNotFound:
            return  # nothing was added yet

    def _add_bank(self, queries: Sequence[Sequence[float]], replace: bool, wait: float) -> Program[BankInfo]:
        yield from self._documents.found()
        return (yield from self._documents.put_bank(queries, replace, wait))

    def _query(
        self,
        query: VectorStoreQuery,
        *,
        mmr_threshold: float | None = None,
        fetch_k: int | None = None,
        scale_score: bool = False,
        **options: Any,
    ) -> Program[VectorStoreQueryResult]:
        if query.mode not in self.MODES:
            raise CannotSend(f'mode: expected "default" or "mmr", got "{query.mode.value}"; a collection has no texts')
        if query.query_embedding is None:
            raise CannotSend("query_embedding: expected a vector, got None")
        yield from self._documents.found()
        count = query.similarity_top_k
        diverse = query.mode == VectorStoreQueryMode.MMR
        hits = yield from self._documents.query(
            query.query_embedding,
            limit=max(count, fetch_k or 4 * count) if diverse else count,
            filter=all_of(
                among(NODE_ID, query.node_ids or None),  # an index that keeps no nodes itself gives an empty list
                among(REF_DOC_ID, query.doc_ids or None),
                filter_of(query.filters),
            ),
            with_vector=diverse,
            **{"strength": self.strength, **given(options)},
        )
        if not hits:
            yield from self._refuse_texts(query.filters)
        weight = next((one for one in (mmr_threshold, query.mmr_threshold) if one is not None), 0.5)
        chosen = diverse_hits(hits, count, weight) if diverse else list(hits)
        return self._result(chosen, scale_score)

    def _result(self, hits: list[Hit], scale_score: bool) -> VectorStoreQueryResult:
        nodes = [node_of(hit.id, hit.payload, self.text_key) for hit in hits]
        scores = self._documents.shares(hits) if scale_score else [hit.score for hit in hits]
        return VectorStoreQueryResult(nodes=nodes, similarities=scores, ids=[node.node_id for node in nodes])

    def _node(self, point: Point) -> BaseNode:
        node = node_of(point.id, point.payload, self.text_key)
        node.embedding = None if point.vector is None else list(point.vector)
        return node

    def _run(self, program: Program[T]) -> T:
        with translated():
            return run(program)

    async def _arun(self, program: Program[T]) -> T:
        with translated():
            return await arun(program)
