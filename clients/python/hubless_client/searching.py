"""The endpoints that search."""

from collections.abc import Callable, Iterable
from typing import Unpack

from hubless_client.bodies import in_bytes, in_json, listed
from hubless_client.call import Call, Content, Json, Timeout
from hubless_client.errors import CannotSend
from hubless_client.hits import BatchHits, Hits
from hubless_client.paths import in_collection
from hubless_client.query import Image, Query, QueryOptions, in_body, in_url
from hubless_client.sending import ClientMethod
from hubless_client.vectors import MatrixLike, Packed, VectorLike, pack_many, pack_one


class SearchMethods:
    """Queries, one or many at once."""

    @ClientMethod
    def query(
        self,
        collection: str,
        vector: VectorLike | None = None,
        *,
        text: str | None = None,
        id: str | int | None = None,
        image: Image | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
        **options: Unpack[QueryOptions],
    ) -> Call[Hits]:
        """The best targets for a vector, shape (d,), for a text, for a picture, or for another target.

        Parameters
        ----------
        collection : its name, or an alias
        vector : d real numbers: a list, an array, a tensor
        text : for collections with an encoder
        id : of a target: its stored vector is the query, and the target itself is left out
        image : bytes, or the path of a file, for collections whose encoder takes pictures
        options : those of `QueryOptions`, such as limit, filter, with_payload
        request_id, timeout : as in every call
        """
        asked = Query(vector, text, id, image, **options)
        if vector is not None and (url_params := in_url(options)) is not None:
            content = in_bytes(pack_one(vector), url_params)
        else:
            content = in_json(asked.as_document())
        path = in_collection(collection, "query")
        return Call("POST", path, Hits.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def query_batch(
        self,
        collection: str,
        vectors: MatrixLike | None = None,
        *,
        queries: Iterable[Query] | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
        **options: Unpack[QueryOptions],
    ) -> Call[BatchHits]:
        """The best targets for many vectors, shape (m, d), or for many `Query` objects, in one request.

        The options are those of `query`. They hold for all vectors. Each `Query` has its own.
        """
        if queries is None and vectors is not None:
            content, count = _content_of_vectors(pack_many(vectors), options)
        elif queries is not None and vectors is None:
            content, count = _content_of_queries(listed("queries", queries), options)
        else:
            given = "neither" if vectors is None else "both"
            raise CannotSend(f"query_batch: expected either vectors or queries, got {given}")
        path = in_collection(collection, "query", "batch")
        return Call("POST", path, _reader_of(count), content, request_id=request_id, timeout=timeout)


def _content_of_vectors(packed: Packed, options: QueryOptions) -> tuple[Content, int]:
    if (url_params := in_url(options)) is not None:
        # The server needs the dimension: two vectors of 384 have as many bytes as three of 256.
        return in_bytes(packed.data, {"dim": packed.dim, **url_params}), packed.rows
    members = in_body(options)
    documents = [{"vector": row, **members} for row in packed.in_base64()]
    return in_json({"queries": documents}), packed.rows


def _content_of_queries(queries: list[Query], options: QueryOptions) -> tuple[Content, int]:
    if given := in_body(options):
        raise CannotSend(f"query_batch: expected the options inside of each Query, got {', '.join(given)} beside them")
    for number, query in enumerate(queries):
        if not isinstance(query, Query):
            raise CannotSend(f"queries[{number}]: expected a Query, got {type(query).__name__}")
    return in_json({"queries": [query.as_document() for query in queries]}), len(queries)


def _reader_of(count: int) -> Callable[[Json, str | None], BatchHits]:
    def read(body: Json, request_id: str | None) -> BatchHits:
        batch = BatchHits.from_json(body, request_id)
        if len(batch) != count:
            raise ValueError(f"{len(batch)} answers to {count} queries")
        return batch

    return read
